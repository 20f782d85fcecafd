//! A server over a real bus and a management cluster that a function plays.
#![allow(clippy::unwrap_used, dead_code)]

pub mod browser;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use sluice_bus::Bus;
use sluice_bus::kit::{Server, write, write_as};
use sluice_inspect::kit::{answer, cluster, connect, rows, service};
use sluice_inspect::{Inspector, Target};
use sluice_inspect_rpc::{Access, Authentication, Client, Settings, serve};
use sluice_kube::fake_api::FakeApi;
use sluice_proto::inspect::v1::inspect_client::InspectClient;
use sluice_tasks::Tasks;
use sluice_template::NoEngine;
use tonic::transport::{Channel, Endpoint};

/// Everything that a question needs; it ends with the value.
pub struct Fixture {
    pub address: SocketAddr,
    pub bus: Bus,
    tasks: Tasks,
    _of_bus: Tasks,
    _api: FakeApi,
    _nats: Server,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
    }
}

/// How the server of a test differs from that of this machine.
pub fn settings() -> Settings {
    Settings::of_this_machine(Arc::new(NoEngine))
}

/// A server with the rows of one event and what follows from it.
pub async fn start(settings: Settings) -> Fixture {
    let nats = Server::start();
    let (bus, of_bus) = connect(&nats).await;
    write(&bus, rows(Some(service()))).await;
    write_as(&bus, &cluster("a").to_string(), rows(Some(service())).into_iter().take(1)).await;
    let (api, tasks) = (FakeApi::start(answer), Tasks::default());
    let inspector = Inspector::new(Ok(bus.clone()), Ok(api.client()));
    let address = serve(settings, inspector, &tasks).await.unwrap().address;
    Fixture { address, bus, tasks, _of_bus: of_bus, _api: api, _nats: nats }
}

/// A server without anything behind it: for what comes before an answer.
pub async fn start_alone(settings: Settings) -> (SocketAddr, Tasks) {
    let (away, tasks) = (|| "of a test".to_owned(), Tasks::default());
    let inspector = Inspector::new(Err(away()), Err(away()));
    (serve(settings, inspector, &tasks).await.unwrap().address, tasks)
}

pub fn with(authentication: Authentication) -> Settings {
    Settings { authentication, ..settings() }
}

pub fn access(address: SocketAddr) -> Access {
    Access { url: format!("http://{address}"), ..Access::default() }
}

pub async fn client(address: SocketAddr) -> Client {
    Client::connect(&access(address)).await.unwrap()
}

pub async fn channel(address: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    endpoint.initial_stream_window_size(65_535).connect().await.unwrap()
}

/// The generated client, for what the other one would not ask.
pub async fn raw(address: SocketAddr) -> InspectClient<Channel> {
    InspectClient::new(channel(address).await)
}

/// What was deployed.
pub fn made() -> Target {
    Target {
        cluster: cluster("b"),
        kind: "ConfigMap".into(),
        namespace: "default".into(),
        name: "made".into(),
    }
}

pub fn file(dir: &Path, text: &str) -> std::path::PathBuf {
    let file = dir.join("tokens");
    std::fs::write(&file, text).unwrap();
    file
}

/// What has not come by now will not.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An authority and certificates, as files.
pub fn certificates(dir: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/dev-certificates.sh");
    assert!(Command::new(script).arg(dir).output().unwrap().status.success());
}
