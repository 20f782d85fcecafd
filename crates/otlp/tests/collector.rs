//! What the journal tells reaches a collector: over a real bus and gRPC.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use sluice_api::ClusterRef;
use sluice_bus::kit::Server;
use sluice_bus::{Bus, BusOptions, Connection, Journal, now_micros};
use sluice_otlp::{Endpoint, Settings, follow};
use sluice_protocol::JournalEntry;
use sluice_tasks::{End, Once, Tasks};
use tokio::sync::mpsc;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

struct Collector(mpsc::UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.0.send(request.into_inner()).unwrap();
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

async fn connect(server: &Server, tasks: &Tasks) -> Bus {
    let options = BusOptions {
        connection: Connection::plain(server.url()),
        name: "test".into(),
        shards: 1,
        replicas: 1,
        tombstone_ttl: Duration::from_secs(60),
        keys: sluice_bus::BusKeys::default(),
    };
    Bus::connect(&options, tasks).await.unwrap()
}

/// A collector on a free port: its address, and what it is sent.
async fn collect(tasks: &Tasks) -> (String, mpsc::UnboundedReceiver<ExportTraceServiceRequest>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::unbounded_channel();
    let router = tonic::transport::Server::builder().add_service(TraceServiceServer::new(Collector(sender)));
    tasks.spawn(Once::Admin, async move {
        router.serve_with_incoming(TcpIncoming::from(listener)).await.unwrap();
        End::Done
    });
    (address, receiver)
}

/// What happens because of a change at `time`, so long after it.
fn line(stage: &str, what: &str, cluster: &str, object: &str, (time, after): (i64, i64)) -> JournalEntry {
    JournalEntry::new(stage, what, cluster, object, time + after, time)
        .because_of(&ClusterRef::sveltos("n", "a"), time)
}

/// The trace of what was sent.
fn trace_of(sent: &ExportTraceServiceRequest) -> Vec<u8> {
    sent.resource_spans[0].scope_spans[0].spans[0].trace_id.clone()
}

/// Spans by stage, each with its parent, its name, and its start and end after the change in milliseconds.
fn told(sent: ExportTraceServiceRequest, time: i64) -> BTreeMap<String, Vec<(bool, String, i64, i64)>> {
    let after = |nanos: u64| (i64::try_from(nanos).unwrap() / 1000 - time) / 1000;
    let shown = |span: &Span| {
        let times = (after(span.start_time_unix_nano), after(span.end_time_unix_nano));
        (!span.parent_span_id.is_empty(), span.name.clone(), times.0, times.1)
    };
    let stages = sent.resource_spans.iter().map(|stage| {
        let name = stage.resource.as_ref().unwrap().attributes[0].value.clone().unwrap();
        let spans = stage.scope_spans.iter().flat_map(|scope| &scope.spans).map(shown).collect();
        (format!("{:?}", name.value.unwrap()).replace("StringValue", ""), spans)
    });
    stages.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_a_trace_with_a_span_for_each_thing_that_it_led_to() {
    let (server, tasks) = (Server::start(), Tasks::default());
    let bus = connect(&server, &tasks).await;
    let (address, mut sent) = collect(&tasks).await;
    let settings = Settings { endpoint: address.parse().unwrap(), share: 1.0 };
    let time = now_micros() - 1_000_000;
    let lines = [
        line("matcher", "matched", "sveltos:n/a", "Service x/y (s)", (time, 2_000)),
        line("renderer", "rendered", "sveltos:n/a", "p", (time, 5_000)),
        line("renderer", "rendered", "sveltos:n/b", "p", (time, 7_000)),
        line("deployer", "applied", "sveltos:n/b", "p", (time, 12_000)),
        JournalEntry::new("matcher", "problem", "c", "no trace", 0, 0),
    ];
    let telling = async {
        let journal = Journal::start(&bus);
        // Who follows is heard of by the server some time: until then lines are told to nobody.
        let heard = loop {
            journal.record(line("matcher", "matched", "sveltos:n/a", "first", (time - 1_000_000, 0)));
            if let Ok(heard) = tokio::time::timeout(Duration::from_millis(200), sent.recv()).await {
                break trace_of(&heard.unwrap());
            }
        };
        lines.iter().for_each(|line| journal.record(line.clone()));
        loop {
            let told = sent.recv().await.unwrap();
            if trace_of(&told) != heard {
                return told;
            }
        }
    };
    let first = tokio::select! {
        first = telling => first,
        ended = follow(&bus, &settings) => panic!("{ended:?}"),
    };
    let ids: Vec<_> = first.resource_spans.iter().flat_map(|stage| &stage.scope_spans[0].spans).collect();
    assert!(ids.iter().all(|span| span.trace_id == ids[0].trace_id && span.span_id.len() == 8));
    let names: std::collections::BTreeSet<_> = ids.iter().map(|span| &span.span_id).collect();
    assert_eq!(names.len(), ids.len(), "each span has a name of its own");
    let span = |name: &str, start, end| (true, name.to_owned(), start, end);
    let expected = BTreeMap::from([
        ("(\"sluice-agent\")".to_owned(), vec![(false, "change of Service x/y (s)".to_owned(), 0, 12)]),
        ("(\"sluice-matcher\")".to_owned(), vec![span("matched Service x/y (s)", 0, 2)]),
        ("(\"sluice-renderer\")".to_owned(), vec![span("rendered p", 2, 5), span("rendered p", 2, 7)]),
        ("(\"sluice-deployer\")".to_owned(), vec![span("applied p", 7, 12)]),
    ]);
    assert_eq!(told(first, time), expected);
    tasks.stop().cancel();
}

#[test]
fn what_is_no_address_of_a_collector_is_said() {
    for wrong in ["", "collector:4317", "nats://x:1", "http://", "http://a b"] {
        let error = wrong.parse::<Endpoint>().unwrap_err();
        assert!(error.to_string().contains("write http://host:4317"), "{error}");
    }
    assert!("http://127.0.0.1:4317".parse::<Endpoint>().is_ok());
    assert!("https://collector.example.com:4317".parse::<Endpoint>().is_ok());
}
