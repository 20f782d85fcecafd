//! Where the service is reached.

// D-1106: the Inspect server is stateless.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures::future::Either;
use sluice_inspect::Inspector;
use sluice_proto::DESCRIPTORS;
use sluice_proto::inspect::v1::inspect_server::InspectServer;
use sluice_tasks::{End, Once, Tasks};
use sluice_template::Engine;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use crate::answer::SLOW;
use crate::auth::Authentication;
use crate::encryption::Encryption;
use crate::front::Fronted;
use crate::page;
use crate::service::{LARGEST, Service};

/// The largest question: the manifests of a difference.
const QUESTION: usize = 16 << 20;
/// Calls on one connection at the same time.
const CALLS: u32 = 64;
/// All headers of a call together.
const HEADERS: u32 = 16 << 10;
/// A peer that does not answer for this long is gone.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// How long what is being answered may take when the process stops.
const GRACE: Duration = Duration::from_secs(3);

/// How the service is reached, and by whom.
#[derive(Debug)]
pub struct Settings {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Files with a certificate and its private key, as PEM. They are read anew when they change.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// How callers prove that they may ask.
    pub authentication: Authentication,
    /// Renders what is written in Tera, for differences.
    pub tera: Arc<dyn Engine>,
    /// How long the reader of a stream may take nothing, before the stream is ended.
    pub patience: Duration,
    /// Whether the page for browsers is served, too.
    pub page: bool,
}

// === impl Settings ===

impl Settings {
    /// A service for this machine, on a free port of the loopback interface, for whoever is there.
    pub fn of_this_machine(tera: Arc<dyn Engine>) -> Self {
        let listen = ([127, 0, 0, 1], 0).into();
        Self {
            listen,
            tls: None,
            authentication: Authentication::None,
            tera,
            patience: Self::PATIENCE,
            page: false,
        }
    }

    /// The patience that is meant.
    pub const PATIENCE: Duration = SLOW;

    /// What browsers ask for, where they may.
    fn browsers(&self, inspector: &Inspector) -> Routes {
        let needs_token = !matches!(self.authentication, Authentication::None);
        match self.page {
            true => {
                let login = self.authentication.page().cloned();
                Routes::from(page::router(inspector.clone(), needs_token, login))
            }
            false => Routes::default(),
        }
    }

    /// Whether nobody is let in who was not meant.
    ///
    /// # Errors
    /// The remedy, when anybody who reaches the address could ask.
    pub fn check(&self) -> anyhow::Result<()> {
        let (listen, open) = (self.listen, matches!(self.authentication, Authentication::None));
        anyhow::ensure!(
            !open || listen.ip().is_loopback(),
            "--listen {listen}: whoever reaches this address could ask; add --token-file FILE, --authenticate \
             kubernetes or --authenticate oidc, or listen on 127.0.0.1"
        );
        if !open && self.tls.is_none() && !listen.ip().is_loopback() {
            tracing::warn!(%listen, "tokens come unencrypted; add --tls-cert and --tls-key, unless something before it encrypts");
        }
        Ok(())
    }
}

/// A server that runs.
#[derive(Debug)]
pub struct Serving {
    /// Where it listens.
    pub address: SocketAddr,
    /// Ends when the process stops, once its callers have been told.
    pub ended: JoinHandle<()>,
}

/// Serves until the process stops.
///
/// # Errors
/// When the address cannot be bound, a file cannot be used, or anybody could ask.
pub async fn serve(settings: Settings, inspector: Inspector, tasks: &Tasks) -> anyhow::Result<Serving> {
    settings.check()?;
    let encryption = settings.tls.as_ref().map(|files| Encryption::open(files, settings.page)).transpose()?;
    let server = Server::builder()
        // Browsers may not speak HTTP/2 where nothing encrypts.
        .accept_http1(settings.page)
        .max_concurrent_streams(CALLS)
        .http2_max_header_list_size(HEADERS)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .http2_keepalive_timeout(Some(KEEPALIVE));
    let listen = settings.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| format!("--listen {listen}"))?;
    let address = listener.local_addr()?;
    let base = settings.browsers(&inspector);
    let service = Service::new(inspector, settings.tera.clone(), settings.patience, tasks);
    let service =
        InspectServer::new(service).max_decoding_message_size(QUESTION).max_encoding_message_size(LARGEST);
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_serving::<InspectServer<Service>>().await;
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let services = base
        .add_service(service)
        .add_service(health)
        .add_service(described().build_v1()?)
        // What many clients still ask.
        .add_service(described().build_v1alpha()?);
    let front = Fronted { authentication: Arc::new(settings.authentication), page: settings.page };
    let routes = server.layer(front).add_routes(services);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let stop = tasks.stop().clone();
    let ended = tasks.spawn(Once::Inspect, async move {
        let asked_to_stop = stop.clone().cancelled_owned();
        let served = match encryption {
            Some(encryption) => {
                let encrypted = encryption.over(incoming);
                Either::Left(routes.serve_with_incoming_shutdown(encrypted, asked_to_stop))
            }
            None => Either::Right(routes.serve_with_incoming_shutdown(incoming, asked_to_stop)),
        };
        let patience = async {
            stop.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            ended = served => if let Err(error) = ended {
                tracing::error!(%error, "the Inspect service ended");
            },
            () = patience => {}
        }
        End::Early
    });
    Ok(Serving { address, ended })
}
