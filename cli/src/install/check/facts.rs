//! What is looked at, once, before anything is judged.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_api::model::{LIB_GROUP, NAMESPACE};
use sluice_bus::{BusReport, check, problem_feed};
use sluice_kube::{Discovered, Raw, Trust, client_of_kubeconfig, discover, resource_of};
use sluice_protocol::Role;
use sluice_runtime::{Accepted, access_feed};
use sluice_tasks::Tasks;

use super::Args;
use super::rights::{Need, needs};
use crate::reach;

/// How long one part may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a managed cluster may take.
const OF_CLUSTER: Duration = Duration::from_secs(5);
/// Managed clusters that are asked at a time.
const AT_ONCE: usize = 16;

/// Everything that is judged. A part that could not be looked at says why.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) pre: bool,
    /// What of it was looked at.
    pub(super) areas: Vec<&'static str>,
    pub(super) namespace: String,
    /// Seconds since 1970.
    pub(super) now: i64,
    pub(super) server: Result<Discovered, String>,
    /// How far the server's clock is ahead of ours, in seconds.
    pub(super) ahead: Option<i64>,
    pub(super) namespaces: Result<BTreeSet<String>, String>,
    /// CustomResourceDefinitions by name.
    pub(super) definitions: Result<BTreeMap<String, Value>, String>,
    /// Deployments of all namespaces.
    pub(super) deployments: Result<Vec<Value>, String>,
    /// Names of the Secrets where keys are, by namespace.
    pub(super) secrets: Result<BTreeSet<(String, String)>, String>,
    /// What each stage may do of what it needs; in the order of [`needs`].
    pub(super) rights: Result<Vec<(Need, bool)>, String>,
    pub(super) bus: Result<BusReport, String>,
    /// Open problems by stage.
    pub(super) problems: Result<BTreeMap<String, usize>, String>,
    pub(super) clusters: Result<Vec<ClusterFacts>, String>,
}

/// A registered cluster.
#[derive(Clone, Debug)]
pub(super) struct ClusterFacts {
    pub(super) name: String,
    /// The kubeconfig that counts, without values that are secret: when its token and its certificate end, in seconds since 1970.
    pub(super) ends: Vec<(&'static str, i64)>,
    /// What it says of itself, or why it does not.
    pub(super) server: Result<Discovered, String>,
}

/// Looks at everything that the arguments reach.
pub(super) async fn gather(args: &Args) -> anyhow::Result<Facts> {
    let now = jiff::Timestamp::now().as_second();
    let client = args.management.client().await?;
    let areas = args.areas();
    let looks = |area: &str| areas.contains(&area);
    let (bus, problems) = if looks("bus") { Box::pin(of_bus(args)).await } else { (unasked(), unasked()) };
    let tasks = Tasks::default();
    let facts = Facts {
        pre: args.pre,
        namespace: args.namespace.clone(),
        now,
        server: in_time(async { discover(&client).await.map_err(anyhow::Error::from) }).await,
        ahead: ahead(&client).await,
        namespaces: names(&client, "Namespace", "")
            .await
            .map(|found| found.into_iter().map(|(_, name)| name).collect()),
        definitions: definitions(&client).await,
        deployments: list(&client, &Gvk::new("apps", "v1", "Deployment"), "").await,
        secrets: secrets(&client, &args.namespace).await,
        rights: if looks("rights") { rights(&client, args).await } else { unasked() },
        bus,
        problems,
        clusters: if looks("cluster") { clusters(&client, &tasks).await } else { unasked() },
        areas,
    };
    tasks.stop().cancel();
    Ok(facts)
}

fn unasked<T>() -> Result<T, String> {
    Err("it was not asked for".to_owned())
}

async fn in_time<T>(work: impl Future<Output = anyhow::Result<T>>) -> Result<T, String> {
    reach::in_time(PATIENCE, work).await.map_err(|error| format!("{error:#}"))
}

async fn of_bus(args: &Args) -> (Result<BusReport, String>, Result<BTreeMap<String, usize>, String>) {
    let options = match args.reach.options(Role::People) {
        Ok(options) => options,
        Err(error) => return (Err(format!("{error:#}")), Err(format!("{error:#}"))),
    };
    let report = in_time(Box::pin(async { Ok(check(&options).await?) })).await;
    if !report.as_ref().is_ok_and(|report| report.problems.is_empty()) {
        return (report, Err("the bus is not as it should be".to_owned()));
    }
    let tasks = Tasks::default();
    let problems = in_time(Box::pin(async {
        let bus = args.reach.bus(Role::People, &tasks).await?;
        let feed = problem_feed(&bus, tasks.stop().clone());
        feed.synced().await;
        let mut open = BTreeMap::new();
        for problem in feed.values().into_iter().filter(|problem| problem.severity.is_error()) {
            *open.entry(problem.stage).or_default() += 1;
        }
        Ok(open)
    }));
    let problems = problems.await;
    tasks.stop().cancel();
    (report, problems)
}

/// The time that the server writes on its answers, less ours.
async fn ahead(client: &Client) -> Option<i64> {
    let request = http::Request::get("/version").body(kube::client::Body::empty()).ok()?;
    let answer = tokio::time::timeout(PATIENCE, client.send(request)).await.ok()?.ok()?;
    let date = answer.headers().get(http::header::DATE)?.to_str().ok()?;
    let theirs = jiff::fmt::rfc2822::parse(date).ok()?.timestamp().as_second();
    Some(theirs - jiff::Timestamp::now().as_second())
}

async fn list(client: &Client, gvk: &Gvk, namespace: &str) -> Result<Vec<Value>, String> {
    in_time(async {
        let Some((resource, _)) = resource_of(client, gvk).await? else { return Ok(Vec::new()) };
        let api: Api<Raw> = match namespace {
            "" => Api::all_with(client.clone(), &resource),
            namespace => Api::namespaced_with(client.clone(), namespace, &resource),
        };
        let found = api.list(&ListParams::default()).await?;
        Ok(found.items.into_iter().map(|object| object.value).collect())
    })
    .await
}

/// Namespaces and names of the objects of a core kind, of which nothing else is read.
async fn names(client: &Client, kind: &str, namespace: &str) -> Result<BTreeSet<(String, String)>, String> {
    in_time(async {
        let Some((resource, _)) = resource_of(client, &Gvk::new("", "v1", kind)).await? else {
            return Ok(BTreeSet::new());
        };
        let api: Api<Raw> = match namespace {
            "" => Api::all_with(client.clone(), &resource),
            namespace => Api::namespaced_with(client.clone(), namespace, &resource),
        };
        let found = api.list_metadata(&ListParams::default()).await?;
        let name = |text: Option<String>| text.unwrap_or_default();
        Ok(found
            .items
            .into_iter()
            .map(|object| (name(object.metadata.namespace), name(object.metadata.name)))
            .collect())
    })
    .await
}

async fn secrets(client: &Client, namespace: &str) -> Result<BTreeSet<(String, String)>, String> {
    let mut found = names(client, "Secret", namespace).await?;
    if namespace != NAMESPACE {
        found.extend(names(client, "Secret", NAMESPACE).await?);
    }
    Ok(found)
}

async fn definitions(client: &Client) -> Result<BTreeMap<String, Value>, String> {
    let gvk = Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let found = list(client, &gvk, "").await?;
    Ok(found.into_iter().map(|object| (sluice_api::object::name(&object).to_owned(), object)).collect())
}

/// Asks for each right whether the account of the stage has it.
async fn rights(client: &Client, args: &Args) -> Result<Vec<(Need, bool)>, String> {
    in_time(async {
        let mut found = Vec::new();
        for need in needs(&args.namespaces, Box::pin(renews_tokens(client)).await) {
            let account = format!("{}-{}", args.release, need.stage());
            let spec = json!({
                "user": format!("system:serviceaccount:{}:{account}", args.namespace),
                "groups": ["system:serviceaccounts", format!("system:serviceaccounts:{}", args.namespace), "system:authenticated"],
                "resourceAttributes": need.attributes(),
            });
            let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
            let request = http::Request::post("/apis/authorization.k8s.io/v1/subjectaccessreviews")
                .header(http::header::CONTENT_TYPE, "application/json")
                .body(review.to_string().into_bytes())?;
            let answer: Value = client.request(request).await?;
            found.push((need, answer["status"]["allowed"] == true));
        }
        Ok(found)
    })
    .await
}

/// Whether the token of some cluster is to be renewed. Before there are registrations, none is.
async fn renews_tokens(client: &Client) -> bool {
    let clusters = list(client, &Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster"), "").await;
    clusters.unwrap_or_default().iter().any(|cluster| !cluster["spec"]["tokenRequestRenewalOption"].is_null())
}

async fn clusters(client: &Client, tasks: &Tasks) -> Result<Vec<ClusterFacts>, String> {
    use futures::StreamExt as _;
    let feed = access_feed(client, tasks, Accepted { proxies: true, ..Accepted::default() });
    in_time(async {
        feed.synced().await;
        Ok(())
    })
    .await?;
    let found = feed.values().into_iter().map(|access| async move {
        let name = access.cluster.path();
        // The identity of agents and deployers is not that of who asks, and nobody reaches one that pulls.
        let is_reached = access.trust != Trust::Identity && !access.pulls;
        let kubeconfig = match access.kubeconfig.filter(|_| is_reached) {
            None => return None,
            Some(Err(why)) => return Some(ClusterFacts { name, ends: Vec::new(), server: Err(why) }),
            Some(Ok(kubeconfig)) => kubeconfig,
        };
        let server = match client_of_kubeconfig(&kubeconfig, Trust::Registered { proxies: true }).await {
            Err(why) => Err(why),
            Ok(client) => match tokio::time::timeout(OF_CLUSTER, discover(&client)).await {
                Ok(Ok(found)) => Ok(found),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("it does not answer within {OF_CLUSTER:?}")),
            },
        };
        Some(ClusterFacts { name, ends: super::clusters::ends(&kubeconfig), server })
    });
    let found: Vec<_> = futures::stream::iter(found).buffered(AT_ONCE).collect().await;
    Ok(found.into_iter().flatten().collect())
}
