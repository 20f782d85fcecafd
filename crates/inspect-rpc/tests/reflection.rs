//! A client without the contract asks the server for it.
#![allow(clippy::unwrap_used)]

use prost::Message as _;
use prost_types::FileDescriptorProto;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

mod common;

use common::{channel, settings, start_alone};

async fn asked(question: MessageRequest) -> MessageResponse {
    let (address, _tasks) = start_alone(settings()).await;
    let question = ServerReflectionRequest { host: String::new(), message_request: Some(question) };
    let mut client = ServerReflectionClient::new(channel(address).await);
    let answers = client.server_reflection_info(futures::stream::iter([question])).await.unwrap();
    answers.into_inner().message().await.unwrap().unwrap().message_response.unwrap()
}

#[tokio::test]
async fn it_names_all_services() {
    let answer = asked(MessageRequest::ListServices(String::new())).await;
    let MessageResponse::ListServicesResponse(services) = answer else { panic!("{answer:?}") };
    let names: Vec<_> = services.service.into_iter().map(|service| service.name).collect();
    for name in ["sluice.inspect.v1.Inspect", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"]
    {
        assert!(names.iter().any(|other| other == name), "{names:?}");
    }
}

#[tokio::test]
async fn it_gives_the_file_of_a_symbol_with_its_methods() {
    let answer = asked(MessageRequest::FileContainingSymbol("sluice.inspect.v1.Inspect".to_owned())).await;
    let MessageResponse::FileDescriptorResponse(files) = answer else { panic!("{answer:?}") };
    let file = FileDescriptorProto::decode(files.file_descriptor_proto[0].as_slice()).unwrap();
    let methods: Vec<_> = file.service[0].method.iter().map(|method| method.name().to_owned()).collect();
    let expected = [
        "Trace",
        "Explain",
        "Rollout",
        "WatchJournal",
        "ListProblems",
        "ListAddons",
        "ListClusters",
        "ListTriggers",
        "ListProfiles",
        "ListEvents",
        "ListUsage",
        "ListResources",
        "ListShards",
        "Diff",
    ];
    assert_eq!(methods, expected);
}
