//! `sluice inspect`: serves the Inspect service, for people and programs that have no credential of the bus.

use std::future::pending;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sluice_inspect::{Inspector, Reached};
use sluice_inspect_rpc::{Authentication, Reviews, Settings, TokenFile, serve};
use sluice_protocol::Role;
use sluice_runtime::{LogArgs, LogFormat, stop_on_signals};
use sluice_tasks::{Kept, Tasks};
use sluice_tera::Workers;
use tokio::sync::watch;

use self::oidc::Issuer;
use crate::otlp::Otlp;
use crate::print::say;
use crate::reach::{Management, Reach};

mod oidc;

/// Pause before bus or management cluster are tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// Arguments of `sluice inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice inspect
  sluice inspect --listen 0.0.0.0:8090 --tls-cert tls.crt --tls-key tls.key --token-file tokens
  sluice inspect --ui --authenticate oidc --oidc-issuer https://id.example --oidc-client-id sluice --oidc-page-url https://inspect.example/ui/

It keeps nothing and writes nothing: run as many as you like. Bus and management cluster may be away; it says what is missing then.
With accounts on the bus it has one of its own, `inspect`, which reads and writes nothing.")]
pub(crate) struct Args {
    /// Where it listens; port 0 takes a free one. Without a way to authenticate only loopback addresses are taken.
    #[arg(long, env = "SLUICE_INSPECT_LISTEN", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// File with the certificate, and those between it and its authority.
    #[arg(long, env = "SLUICE_INSPECT_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// File with the private key of --tls-cert.
    #[arg(long, env = "SLUICE_INSPECT_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// File with tokens that callers may have, one a line. It is read anew when it changes.
    #[arg(long, env = "SLUICE_INSPECT_TOKEN_FILE", value_name = "FILE", conflicts_with = "authenticate")]
    token_file: Option<PathBuf>,
    /// Take the tokens that somebody else knows.
    #[arg(long, env = "SLUICE_INSPECT_AUTHENTICATE", value_enum)]
    authenticate: Option<Way>,
    /// Serve the page, too, for browsers: below /ui/ of the same address.
    #[arg(long, env = "SLUICE_INSPECT_UI")]
    ui: bool,
    #[command(flatten)]
    issuer: Issuer,
    #[command(flatten)]
    logs: LogArgs,
    #[command(flatten)]
    otlp: Otlp,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
}

/// Who knows tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Way {
    /// The management cluster, which is asked by TokenReviews.
    Kubernetes,
    /// An issuer of OpenID Connect: --oidc-issuer.
    Oidc,
}

impl Args {
    /// How logs are to be written.
    pub(crate) fn log_format(&self) -> LogFormat {
        self.logs.log_format
    }

    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let tasks = stop_on_signals();
        // What is wrong with the arguments is said at once, and not when the bus is there.
        self.reach.options(Role::Inspect)?;
        let (reach, of_bus) = (self.reach.clone(), tasks.clone());
        let bus = kept("the bus", &tasks, move || {
            let (reach, tasks) = (reach.clone(), of_bus.clone());
            async move { reach.bus(Role::Inspect, &tasks).await }
        });
        let cluster = self.management.clone();
        let management = kept("the management cluster", &tasks, move || {
            let cluster = cluster.clone();
            async move { cluster.client().await }
        });
        self.otlp.clone().start(bus.clone(), &tasks);
        let page = if self.ui { "/ui/" } else { "" };
        let scheme = if self.tls_cert.is_some() { "https" } else { "http" };
        let onboarding = self.management.onboarding();
        let settings = self.settings(management.clone())?;
        let inspector = Inspector::following(bus, management).with_onboarding(onboarding);
        let serving = serve(settings, inspector, &tasks).await?;
        say!("ready inspect={scheme}://{}", serving.address);
        if !page.is_empty() {
            say!("page  {scheme}://{}{page}", serving.address);
        }
        // One that panics has been told of, and has stopped the process.
        serving.ended.await.ok();
        tasks.end_kept().await;
        Ok(tasks.verdict()?)
    }

    fn settings(self, management: Reached<kube::Client>) -> anyhow::Result<Settings> {
        if self.authenticate != Some(Way::Oidc) {
            self.issuer.check_unused()?;
        }
        let authentication = match (&self.token_file, self.authenticate) {
            (Some(file), _) => {
                let opened = TokenFile::open(file);
                Authentication::TokenFile(opened.map_err(|error| anyhow::anyhow!("--token-file {error}"))?)
            }
            (None, Some(Way::Kubernetes)) => Authentication::Kubernetes(Reviews::new(management)),
            (None, Some(Way::Oidc)) => self.issuer.authentication()?,
            (None, None) => Authentication::None,
        };
        let tls = self.tls_cert.zip(self.tls_key);
        Ok(Settings {
            listen: self.listen,
            tls,
            authentication,
            tera: Arc::new(Workers::new()),
            patience: Settings::PATIENCE,
            page: self.ui,
        })
    }
}

/// What is reached as soon as it is there; until then, why it is not.
fn kept<T, F>(what: &'static str, tasks: &Tasks, reach: impl Fn() -> F + Clone + Send + 'static) -> Reached<T>
where
    T: Clone + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<T>> + Send,
{
    let (known, reached) = watch::channel(Err(format!("{what} has not been reached yet; ask again")));
    let known = Arc::new(known);
    tasks.keep(Kept::Reach, move || {
        let (known, reach) = (known.clone(), reach.clone());
        async move {
            loop {
                match Box::pin(reach()).await {
                    Ok(found) => drop(known.send_replace(Ok(found))),
                    Err(error) => {
                        let error = format!("{what} cannot be reached: {error:#}");
                        // It is said once, however often it is tried.
                        let news = known.borrow().as_ref().err() != Some(&error);
                        if news {
                            tracing::warn!(error, "the answers that need {what} say so until it is there");
                            drop(known.send_replace(Err(error)));
                        }
                        tokio::time::sleep(AGAIN).await;
                        continue;
                    }
                }
                // What was reached mends itself.
                pending::<()>().await;
            }
        }
    });
    reached
}
