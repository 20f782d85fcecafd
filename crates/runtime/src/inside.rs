//! A process that is in a managed cluster: which one it is, and how it reaches it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use sluice_api::ClusterRef;
use sluice_api::model::Cluster;
use sluice_bus::{InterestFeed, now_micros};
use sluice_kube::Trust;
use sluice_protocol::Revision;
use sluice_protocol::interest::Interest;
use sluice_tasks::{End, Kept, Tasks};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::clusters::{Access, ClusterFeed};

/// Arguments of who may be in a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct InsideArgs {
    /// Serve only this cluster, `namespace/name`; without it all registered clusters are shared by all replicas.
    #[arg(long)]
    cluster: Option<String>,

    /// This process runs in the cluster itself, and reaches it with the account of its pod. Needs --cluster.
    #[arg(long, requires = "cluster", conflicts_with = "cluster_kubeconfig")]
    in_cluster: bool,

    /// Kubeconfig of the cluster itself; then nothing of the management cluster is needed. It may name programs and files, as no
    /// registered one may. Needs --cluster.
    #[arg(long, requires = "cluster")]
    cluster_kubeconfig: Option<PathBuf>,
}

// === impl InsideArgs ===

impl InsideArgs {
    /// The cluster that is served alone.
    ///
    /// # Errors
    /// When it is not named by namespace and name.
    pub fn only(&self) -> anyhow::Result<Option<ClusterRef>> {
        self.cluster.as_deref().map(only).transpose()
    }

    /// How to reach the cluster beside which this process runs; `None` where its registration says it.
    ///
    /// # Errors
    /// When this process runs in no pod, or the file cannot be read.
    pub fn kubeconfig(&self) -> anyhow::Result<Option<String>> {
        if self.in_cluster {
            let host = std::env::var("KUBERNETES_SERVICE_HOST");
            let port = std::env::var("KUBERNETES_SERVICE_PORT");
            let (Ok(host), Ok(port)) = (host, port) else {
                bail!("--in-cluster: this process runs in no pod; name --cluster-kubeconfig instead")
            };
            return Ok(Some(of_pod(&host, &port)));
        }
        let Some(path) = &self.cluster_kubeconfig else { return Ok(None) };
        let text = std::fs::read_to_string(path);
        text.map(Some).with_context(|| format!("--cluster-kubeconfig {}", path.display()))
    }
}

fn only(text: &str) -> anyhow::Result<ClusterRef> {
    let parts = text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, name) = parts.with_context(|| format!("--cluster {text:?}: write namespace/name"))?;
    Ok(ClusterRef::sveltos(namespace, name))
}

/// A kubeconfig of the account of this pod. Its token is read anew from its file when it changes.
fn of_pod(host: &str, port: &str) -> String {
    const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
    // An address of IPv6 is in brackets.
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: pod\ncontexts: [{{name: pod, context: {{cluster: pod, user: pod}}}}]\n\
         clusters: [{{name: pod, cluster: {{server: \"https://{host}:{port}\", certificate-authority: {ACCOUNT}/ca.crt}}}}]\n\
         users: [{{name: pod, user: {{tokenFile: {ACCOUNT}/token}}}}]\n"
    )
}

/// The access to the one cluster that a process is in, which follows from nothing else.
pub fn own_access(cluster: &ClusterRef, kubeconfig: &str) -> ClusterFeed {
    let feed = ClusterFeed::new();
    feed.put(cluster.clone(), Access::new(cluster.clone(), Some(Ok(kubeconfig.into())), Trust::Own));
    feed.set_synced();
    feed
}

// D-0213: a cluster that pulls has a deployer of its own.
/// A clock may be set: when a pause ends later is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The row of a registered cluster that is lost with its bucket is written again within seconds. Where there is none for so long it was
/// taken away because the cluster is gone, or lost when it had said so: what a former process has said of the cluster goes, too.
const MISSING: Duration = Duration::from_secs(120);
/// A node of the bus that lags tells older rows once more: for so long none counts that is older than what is known. Afterwards what was
/// newer is lost.
const OLDER: Duration = Duration::from_secs(10);

/// The same for who must know what the registration says: the row of the cluster in the `interest` bucket has it. Known once that row
/// is there, or has been missing for long.
pub fn registered_access(
    interests: &InterestFeed,
    tasks: &Tasks,
    cluster: &ClusterRef,
    kubeconfig: &str,
) -> ClusterFeed {
    let feed = ClusterFeed::new();
    let (cluster, kubeconfig): (_, Arc<str>) = (cluster.clone(), kubeconfig.into());
    let (told, interests) = (feed.clone(), interests.clone());
    tasks.keep(Kept::Registrations, move || {
        let rows = interests.subscribe_key(cluster.clone());
        follow(rows, told.clone(), cluster.clone(), kubeconfig.clone())
    });
    feed
}

async fn follow(
    mut rows: mpsc::UnboundedReceiver<(ClusterRef, Interest)>,
    feed: ClusterFeed,
    cluster: ClusterRef,
    kubeconfig: Arc<str>,
) -> End {
    let (mut registered, mut missing) = (Registered::Unknown, Some(Instant::now()));
    let (mut revision, mut older) = (Revision::NONE, None);
    loop {
        let now = now_micros();
        if let Some(next) = registered.access(&cluster, &kubeconfig, now) {
            match next.kubeconfig.is_some() {
                _ if feed.get(&cluster).as_ref() == Some(&next) => {}
                true => feed.put(cluster.clone(), next),
                false => feed.remove(&cluster, next),
            }
            feed.set_synced();
        }
        let wait = registered.next(now).map(|at| Duration::from_micros(u64::try_from(at - now).unwrap_or(0)));
        tokio::select! {
            row = rows.recv() => match row {
                // For a while that says nothing new, and of what comes then nothing is older.
                Some((_, row)) if row.is_lost() => {
                    missing.get_or_insert_with(Instant::now);
                    (revision, older) = (Revision::NONE, None);
                }
                Some((_, row)) if row.revision < revision => {
                    let until = older.as_ref().map_or_else(|| Instant::now() + OLDER, |(until, _)| *until);
                    (older, missing) = (Some((until, row)), None);
                }
                Some((_, row)) => {
                    (registered, missing) = (Registered::of(&row), None);
                    (revision, older) = (row.revision, None);
                }
                None => return End::Early,
            },
            row = lasting(&mut older) => (registered, revision) = (Registered::of(&row), row.revision),
            () = tokio::time::sleep_until(missing.unwrap_or_else(Instant::now) + MISSING), if missing.is_some() => {
                (registered, missing) = (Registered::Gone, None);
            }
            () = tokio::time::sleep(wait.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN)), if wait.is_some() => {}
        }
    }
}

/// An older row than the one that was known, when it has been told for long enough.
async fn lasting(older: &mut Option<(Instant, Interest)>) -> Interest {
    match older {
        Some((until, _)) => tokio::time::sleep_until(*until).await,
        None => std::future::pending().await,
    }
    older.take().map_or_else(Interest::default, |(_, row)| row)
}

/// What the bus says of the registration.
enum Registered {
    /// Nothing yet.
    Unknown,
    /// That there is none.
    Gone,
    /// That somebody outside serves the cluster.
    Pushed,
    Pulls(Box<Cluster>),
}

// === impl Registered ===

impl Registered {
    fn of(row: &Interest) -> Self {
        match row.registration.as_ref().and_then(Cluster::read) {
            _ if row.gone => Self::Gone,
            Some(cluster) if cluster.pulls => Self::Pulls(Box::new(cluster)),
            _ => Self::Pushed,
        }
    }

    fn access(&self, cluster: &ClusterRef, kubeconfig: &Arc<str>, now: i64) -> Option<Access> {
        let access = |kubeconfig| Access::new(cluster.clone(), kubeconfig, Trust::Own);
        match self {
            Self::Unknown => None,
            Self::Gone => Some(access(None)),
            Self::Pushed => {
                let text = "its registration says nothing of spec.pullMode: true, so that it is served from outside; register it anew with that, or take this deployer away";
                Some(access(Some(Err(text.to_owned()))))
            }
            Self::Pulls(registered) => Some(Access {
                paused: registered.pause.at(now).is_some(),
                checks: registered.checks.clone(),
                pulls: true,
                ..access(Some(Ok(kubeconfig.clone())))
            }),
        }
    }

    /// When a pause begins or ends by itself.
    fn next(&self, now: i64) -> Option<i64> {
        if let Self::Pulls(cluster) = self { cluster.pause.next(now) } else { None }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use clap::Parser as _;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Process {
        #[command(flatten)]
        inside: InsideArgs,
    }

    fn parse(arguments: &[&str]) -> Result<Process, clap::Error> {
        Process::try_parse_from(["agent"].iter().chain(arguments))
    }

    #[test]
    fn a_cluster_is_named_by_namespace_and_name() {
        assert_eq!(only("default/c").unwrap(), ClusterRef::sveltos("default", "c"));
        for text in ["c", "/c", "default/", ""] {
            let error = only(text).unwrap_err().to_string();
            assert_eq!(error, format!("--cluster {text:?}: write namespace/name"));
        }
    }

    #[test]
    fn a_kubeconfig_of_the_cluster_itself_needs_its_name() {
        let error = parse(&["--cluster-kubeconfig", "k"]).unwrap_err().to_string();
        assert!(error.contains("--cluster <CLUSTER>"), "{error}");
        let process = parse(&["--cluster-kubeconfig", "k", "--cluster", "default/c"]).unwrap();
        assert_eq!(process.inside.only().unwrap(), Some(ClusterRef::sveltos("default", "c")));
        let error = format!("{:#}", process.inside.kubeconfig().unwrap_err());
        assert!(error.starts_with("--cluster-kubeconfig k: "), "{error}");
    }

    #[test]
    fn in_a_pod_the_account_of_the_pod_counts() {
        assert!(parse(&["--in-cluster"]).unwrap_err().to_string().contains("--cluster <CLUSTER>"));
        let both = ["--in-cluster", "--cluster-kubeconfig", "k", "--cluster", "default/c"];
        assert!(parse(&both).unwrap_err().to_string().contains("cannot be used with"));
        for (host, server) in [("10.0.0.1", "https://10.0.0.1:443"), ("fd00::1", "https://[fd00::1]:443")] {
            let text = of_pod(host, "443");
            let config = sluice_api::yaml::documents(&text).unwrap().remove(0);
            assert_eq!(config["clusters"][0]["cluster"]["server"], server);
            assert!(config["users"][0]["user"]["tokenFile"].as_str().unwrap().ends_with("/token"));
        }
    }

    #[test]
    fn who_serves_one_cluster_knows_it_at_once() {
        let cluster = ClusterRef::sveltos("default", "c");
        let feed = own_access(&cluster, "clusters: []");
        assert!(feed.is_synced());
        let access = feed.get(&cluster).unwrap();
        assert_eq!((access.kubeconfig, access.paused), (Some(Ok(Arc::from("clusters: []"))), false));
        assert_eq!(feed.keys(), [cluster]);
    }

    fn shop() -> ClusterRef {
        ClusterRef::sveltos("edge", "shop")
    }

    fn row(spec: Value) -> Interest {
        let metadata = json!({"namespace": "edge", "name": "shop"});
        let registration = json!({"kind": "SveltosCluster", "metadata": metadata, "spec": spec});
        Interest {
            registration: Some(registration.into()),
            revision: Revision::new(1),
            ..Interest::default()
        }
    }

    /// Tells rows of the cluster, each for so long, and looks after each.
    async fn after_each<const N: usize>(
        rows: [(Interest, Duration); N],
        look: impl Fn(&ClusterFeed) -> bool,
    ) -> Vec<bool> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let feed = ClusterFeed::new();
        let following = follow(receiver, feed.clone(), shop(), "k".into());
        let tell = async {
            let mut seen = Vec::new();
            for (told, wait) in rows {
                sender.send((shop(), told)).unwrap();
                tokio::time::sleep(wait).await;
                seen.push(look(&feed));
            }
            seen
        };
        tokio::select! { _ = following => Vec::new(), seen = tell => seen }
    }

    #[tokio::test(start_paused = true)]
    async fn a_row_that_is_lost_says_that_the_cluster_is_gone_when_nobody_writes_it_again() {
        let pulls = || row(json!({"pullMode": true}));
        let rows = [
            (Interest::default(), 2 * MISSING),
            (pulls(), MISSING / 2),
            (Interest::default(), MISSING / 2),
            (pulls(), 2 * MISSING),
            (Interest::default(), 2 * MISSING),
            (pulls(), MISSING / 2),
        ];
        let is_there = after_each(rows, |feed| feed.keys() == [shop()]).await;
        assert_eq!(is_there, [false, true, true, true, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_older_row_counts_when_nothing_newer_comes_for_long() {
        let of = |revision: u64, paused: bool| Interest {
            revision: Revision::new(revision),
            ..row(json!({"pullMode": true, "paused": paused}))
        };
        let rows = [
            (of(2, true), OLDER),
            (of(1, false), OLDER / 2),
            (of(2, true), OLDER),
            (of(1, false), OLDER / 2),
            (of(1, false), OLDER),
            (of(2, true), OLDER / 2),
            (Interest::default(), OLDER / 2),
            (of(1, false), OLDER / 2),
        ];
        let is_paused = after_each(rows, |feed| feed.get(&shop()).unwrap().paused).await;
        assert_eq!(is_paused, [true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn what_the_registration_says_counts_and_without_it_nothing_is_done() {
        let (cluster, text) = (shop(), Arc::from("k"));
        let of = |row: &Interest| Registered::of(row).access(&cluster, &text, 0);
        assert_eq!(Registered::Unknown.access(&cluster, &text, 0), None);
        let pulls = of(&row(json!({"pullMode": true}))).unwrap();
        assert_eq!((pulls.kubeconfig, pulls.paused), (Some(Ok(text.clone())), false));
        assert!(of(&row(json!({"pullMode": true, "paused": true}))).unwrap().paused);
        for pushed in [Interest::default(), row(json!({}))] {
            assert!(of(&pushed).unwrap().kubeconfig.unwrap().unwrap_err().contains("spec.pullMode"));
        }
        assert_eq!(of(&Interest::of_gone(Revision::new(2))).unwrap().kubeconfig, None);
    }
}
