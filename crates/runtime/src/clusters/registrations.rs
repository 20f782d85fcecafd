//! Which clusters are registered and where their kubeconfigs are, as the watches of the management cluster tell it.

// D-0501: that a registration is gone is a fact of the management cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};
use sluice_api::model::{
    AUTHORITY_KEY, Cluster, Farewell, Guards, Identity, KubeconfigRef, LIB_GROUP, Pause, Renewal,
    WorkloadIdentity, capi_cluster,
};
use sluice_api::{ClusterRef, FieldError, Gvk, object};

use super::{Accepted, Access, ClusterFeed};
use sluice_kube::{Trust, WatchEvent, identity_kubeconfig, remedy_of_denial};

/// A kind that says something of clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RegistrationKind {
    Sveltos,
    Capi,
    Secret,
}

/// The registrations and Secrets that were seen, put together when a cluster is asked for.
#[derive(Default)]
pub(super) struct Registrations {
    accepted: Accepted,
    clusters: BTreeMap<(RegistrationKind, ClusterRef), Registration>,
    /// By namespace and name. Data is kept of what may be a kubeconfig, by its text or by its name: other Secrets can be
    /// many and large.
    secrets: BTreeMap<(String, String), Secret>,
    listed: BTreeSet<RegistrationKind>,
}

/// Why nobody reaches a cluster from outside.
const PULLS: &str = "spec.pullMode: it is reached by the agent and the deployer in it alone";

/// The data of a Secret, where it is kept.
type Secret = Option<Map<String, Value>>;

/// What a registration says of a cluster.
#[derive(PartialEq)]
struct Registration {
    kubeconfig: KubeconfigRef,
    pause: Pause,
    pulls: bool,
    checks: Guards,
    renewal: Renewal,
    farewell: Farewell,
    identity: Identity,
}

/// Whose access may have changed.
enum Touched {
    All,
    Cluster(RegistrationKind, ClusterRef),
    UsersOf(String, String),
    None,
}

// === impl RegistrationKind ===

impl RegistrationKind {
    pub(super) const ALL: [Self; 3] = [Self::Sveltos, Self::Capi, Self::Secret];

    pub(super) fn gvk(self) -> Gvk {
        match self {
            Self::Sveltos => Gvk::new(LIB_GROUP, "v1beta1", "SveltosCluster"),
            Self::Capi => capi_cluster(),
            Self::Secret => Gvk::new("", "v1", "Secret"),
        }
    }
}

// === impl Registrations ===

impl Registrations {
    /// Nothing is registered yet.
    pub(super) fn accepting(accepted: Accepted) -> Self {
        Self { accepted, ..Self::default() }
    }

    /// Takes what a watch says; `feed` learns the accesses that are others now. `now` is microseconds since 1970, here and below.
    /// Whether pauses may end at another time than before.
    pub(super) fn take(
        &mut self,
        kind: RegistrationKind,
        event: WatchEvent,
        now: i64,
        feed: &ClusterFeed,
    ) -> bool {
        let touched = self.note(kind, event);
        let is_registration = matches!(touched, Touched::All | Touched::Cluster(..));
        if RegistrationKind::ALL.iter().all(|kind| self.listed.contains(kind)) {
            self.tell(touched, now, feed);
        }
        is_registration
    }

    /// Tells of the clusters whose pauses have begun or ended by themselves.
    pub(super) fn turn(&self, now: i64, feed: &ClusterFeed) {
        if feed.is_synced() {
            let timed = self.clusters.iter().filter(|(_, registered)| registered.pause.is_timed());
            timed.for_each(|((kind, id), _)| self.publish(*kind, id, now, feed));
        }
    }

    /// When a pause begins or ends by itself.
    pub(super) fn next(&self, now: i64) -> Option<i64> {
        self.clusters.values().filter_map(|registered| registered.pause.next(now)).min()
    }

    fn tell(&self, touched: Touched, now: i64, feed: &ClusterFeed) {
        match touched {
            Touched::None => {}
            Touched::Cluster(kind, id) => self.publish(kind, &id, now, feed),
            Touched::UsersOf(namespace, secret) => {
                let uses = |id: &ClusterRef, registered: &Registration| {
                    id.namespace == namespace && registered.secret() == Some(secret.as_str())
                };
                let users = self.clusters.iter().filter(|((_, id), registered)| uses(id, registered));
                users.for_each(|((kind, id), _)| self.publish(*kind, id, now, feed));
            }
            Touched::All => {
                self.clusters.keys().for_each(|(kind, id)| self.publish(*kind, id, now, feed));
                let known: BTreeSet<&ClusterRef> = self.clusters.keys().map(|(_, id)| id).collect();
                let gone = feed.keys().into_iter().filter(|id| !known.contains(id));
                gone.for_each(|id| withdraw(&id, feed));
                feed.set_synced();
            }
        }
    }

    fn note(&mut self, kind: RegistrationKind, event: WatchEvent) -> Touched {
        match event {
            WatchEvent::Version(_) | WatchEvent::Well => Touched::None,
            WatchEvent::Trouble(error) => {
                let remedy = remedy_of_denial(&error);
                tracing::warn!(error, "the management cluster cannot be watched; trying again{remedy}");
                Touched::None
            }
            WatchEvent::Listed(objects) => {
                match kind {
                    RegistrationKind::Secret => self.secrets.clear(),
                    _ => self.clusters.retain(|(of, _), _| *of != kind),
                }
                objects.into_iter().for_each(|object| drop(self.put(kind, object)));
                self.listed.insert(kind);
                Touched::All
            }
            WatchEvent::Applied(object) => self.put(kind, object),
            WatchEvent::Deleted(object) if kind == RegistrationKind::Secret => {
                let (namespace, name) = place(&object);
                self.secrets.remove(&(namespace.clone(), name.clone()));
                Touched::UsersOf(namespace, name)
            }
            WatchEvent::Deleted(object) => match Cluster::read(&Arc::new(object)) {
                Some(cluster) => {
                    self.clusters.remove(&(kind, cluster.id.clone()));
                    Touched::Cluster(kind, cluster.id)
                }
                None => Touched::None,
            },
        }
    }

    fn put(&mut self, kind: RegistrationKind, mut object: Value) -> Touched {
        if kind == RegistrationKind::Secret {
            let (namespace, name) = place(&object);
            let data = match object.get_mut("data").map(Value::take) {
                Some(Value::Object(data)) => data,
                _ => Map::new(),
            };
            let data = match name.ends_with("kubeconfig") || data.values().any(may_be_kubeconfig) {
                true => Some(data),
                false => self.authority(data),
            };
            self.secrets.insert((namespace.clone(), name.clone()), data);
            return Touched::UsersOf(namespace, name);
        }
        let Some(cluster) = Cluster::read(&Arc::new(object)) else { return Touched::None };
        if !self.accepted.onboarding.registers(&cluster) {
            let was = self.clusters.remove(&(kind, cluster.id.clone())).is_some();
            return if was { Touched::Cluster(kind, cluster.id) } else { Touched::None };
        }
        let Cluster { id, kubeconfig, pause, pulls, checks, renewal, farewell, identity, .. } = cluster;
        let registered = Registration { kubeconfig, pause, pulls, checks, renewal, farewell, identity };
        let key = (kind, id.clone());
        // Its status is written all the time.
        if self.clusters.get(&key) == Some(&registered) {
            return Touched::None;
        }
        self.clusters.insert(key, registered);
        Touched::Cluster(kind, id)
    }

    /// The certificate authority in a Secret, where clusters may be reached with an identity: nothing else of it is kept.
    fn authority(&self, mut data: Map<String, Value>) -> Secret {
        let authority = data.remove(AUTHORITY_KEY).filter(|_| self.accepted.identities.any())?;
        Some([(AUTHORITY_KEY.to_owned(), authority)].into_iter().collect())
    }

    fn publish(&self, kind: RegistrationKind, id: &ClusterRef, now: i64, feed: &ClusterFeed) {
        let Some(registered) = self.clusters.get(&(kind, id.clone())) else { return withdraw(id, feed) };
        let named = &registered.kubeconfig;
        let secret = |name: &str| self.secrets.get(&(id.namespace.clone(), name.to_owned()));
        let pulls = registered.pulls;
        let (text, trust) = match &registered.identity {
            _ if pulls => (Err(PULLS.to_owned()), Trust::Registered { proxies: false }),
            Some(identity) => (self.by_identity(id, identity, secret), Trust::Identity),
            None => {
                let trust = Trust::Registered { proxies: self.accepted.proxies };
                (kubeconfig(named, secret(&named.secret)), trust)
            }
        };
        let kubeconfig = Some(text.map(Into::into));
        let paused = registered.pause.at(now).is_some();
        let (checks, renewal) = (registered.checks.clone(), registered.renewal.clone().filter(|_| !pulls));
        // Nobody outside sees what is left in a cluster that pulls.
        let farewell = registered.farewell.clone().filter(|_| !pulls);
        let access =
            Access { cluster: id.clone(), kubeconfig, trust, paused, pulls, checks, renewal, farewell };
        if feed.get(id).as_ref() != Some(&access) {
            feed.put(id.clone(), access);
        }
    }

    /// The kubeconfig of a cluster that is reached with the identity of this process. Whoever names an address gets a token there:
    /// only namespaces count whose registrations are the admin's.
    fn by_identity<'a>(
        &self,
        id: &ClusterRef,
        identity: &Result<WorkloadIdentity, FieldError>,
        secret: impl Fn(&str) -> Option<&'a Secret>,
    ) -> Result<String, String> {
        let identity = identity.as_ref().map_err(ToString::to_string)?;
        if !self.accepted.identities.allow(&id.namespace) {
            let namespace = &id.namespace;
            return Err(format!(
                "spec.workloadIdentity: registrations of namespace {namespace} may not use the identity of Sluice; name it in \
                 --workload-identity-namespaces, or give the cluster a kubeconfig"
            ));
        }
        let Some(name) = &identity.authority else { return Ok(identity_kubeconfig(identity, None)) };
        let missing = || {
            format!(
                "Secret {name} of spec.workloadIdentity.caSecretRef has no key {AUTHORITY_KEY}, or does not exist"
            )
        };
        let authority = secret(name).and_then(|data| data.as_ref()?.get(AUTHORITY_KEY)?.as_str());
        Ok(identity_kubeconfig(identity, Some(authority.ok_or_else(missing)?)))
    }
}

impl Registration {
    /// The Secret by which it is reached.
    fn secret(&self) -> Option<&str> {
        match self.identity.as_deref() {
            Some(Ok(identity)) => identity.authority.as_deref(),
            Some(Err(_)) => None,
            None => Some(&self.kubeconfig.secret),
        }
    }
}

fn withdraw(id: &ClusterRef, feed: &ClusterFeed) {
    feed.remove(id, Access::new(id.clone(), None, Trust::Registered { proxies: false }));
}

fn place(object: &Value) -> (String, String) {
    (object::namespace(object).to_owned(), object::name(object).to_owned())
}

fn decoded(value: &Value) -> Option<String> {
    let bytes = STANDARD.decode(value.as_str()?).ok()?;
    String::from_utf8(bytes).ok()
}

/// Every kubeconfig has this field, and little else does.
fn may_be_kubeconfig(value: &Value) -> bool {
    decoded(value).is_some_and(|text| text.contains("clusters"))
}

/// Under which key of a Secret's data the kubeconfig is, where it has one: a renewed one counts.
pub fn kubeconfig_key(named: &KubeconfigRef, data: &Map<String, Value>) -> Option<String> {
    let written = |key: &Option<String>| key.clone().filter(|key| data.contains_key(key));
    if let Some(renewed) = written(&named.renewed) {
        return Some(renewed);
    }
    if named.key.is_some() {
        return written(&named.key);
    }
    let found = data.iter().find(|(_, value)| may_be_kubeconfig(value)).or_else(|| data.iter().next());
    found.map(|(key, _)| key.clone())
}

fn kubeconfig(named: &KubeconfigRef, secret: Option<&Secret>) -> Result<String, String> {
    let name = &named.secret;
    let data = match secret {
        None => return Err(format!("Secret {name} does not exist; create it with the cluster's kubeconfig")),
        Some(None) => {
            return Err(format!(
                "Secret {name} holds no kubeconfig; put it under any key, or under the one that spec.kubeconfigKeyName names"
            ));
        }
        Some(Some(data)) => data,
    };
    let key = kubeconfig_key(named, data).ok_or_else(|| match &named.key {
        Some(key) => format!("Secret {name} has no key {key} (spec.kubeconfigKeyName)"),
        None => format!("Secret {name} is empty; put the kubeconfig under any key"),
    })?;
    let value = data.get(&key).unwrap_or(&Value::Null);
    decoded(value).ok_or_else(|| format!("Secret {name}: the value is not base64 of text"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    const KUBECONFIG: &str = "clusters: []";

    fn secret(name: &str, data: &[(&str, &str)]) -> Value {
        let data: Map<_, _> =
            data.iter().map(|(key, text)| ((*key).to_owned(), json!(STANDARD.encode(text)))).collect();
        json!({"kind": "Secret", "metadata": {"namespace": "default", "name": name}, "data": data})
    }

    fn cluster(name: &str, spec: Value) -> Value {
        json!({"kind": "SveltosCluster", "metadata": {"namespace": "default", "name": name}, "spec": spec})
    }

    struct Fixture {
        registrations: Registrations,
        feed: ClusterFeed,
    }

    impl Fixture {
        /// A management cluster that holds these when it is listed.
        fn listed(clusters: Vec<Value>, secrets: Vec<Value>) -> Self {
            let mut fixture = Self { registrations: Registrations::default(), feed: ClusterFeed::new() };
            // Secrets may be listed before anybody knows which of them is named.
            fixture.take(RegistrationKind::Secret, WatchEvent::Listed(secrets));
            fixture.take(RegistrationKind::Sveltos, WatchEvent::Listed(clusters));
            assert!(!fixture.feed.is_synced());
            fixture.take(RegistrationKind::Capi, WatchEvent::Listed(Vec::new()));
            assert!(fixture.feed.is_synced());
            fixture
        }

        fn take(&mut self, kind: RegistrationKind, event: WatchEvent) {
            self.registrations.take(kind, event, 0, &self.feed);
        }

        fn access(&self, name: &str) -> Option<Result<String, String>> {
            let id = self.feed.keys().into_iter().find(|id| id.name == name)?;
            self.feed.get(&id)?.kubeconfig.map(|text| text.map(|text| text.to_string()))
        }
    }

    #[test]
    fn a_secret_of_any_name_is_found_whenever_it_comes() {
        let own = json!({"kubeconfigName": "own"});
        let mut fixture =
            Fixture::listed(vec![cluster("a", own.clone())], vec![secret("own", &[("v", KUBECONFIG)])]);
        assert_eq!(fixture.access("a"), Some(Ok(KUBECONFIG.to_owned())));
        // A cluster may name later what is there already.
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(cluster("b", own)));
        assert_eq!(fixture.access("b"), Some(Ok(KUBECONFIG.to_owned())));
        fixture
            .take(RegistrationKind::Secret, WatchEvent::Applied(secret("own", &[("v", "clusters: [new]")])));
        assert_eq!(fixture.access("a"), Some(Ok("clusters: [new]".to_owned())));
        fixture.take(RegistrationKind::Secret, WatchEvent::Deleted(secret("own", &[])));
        assert!(fixture.access("b").unwrap().unwrap_err().contains("does not exist"));
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Deleted(cluster("a", json!({}))));
        assert_eq!(fixture.access("a"), None);
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Listed(Vec::new()));
        assert!(fixture.feed.keys().is_empty());
    }

    #[test]
    fn only_a_new_access_is_told() {
        let mut fixture = Fixture::listed(
            vec![cluster("a", json!({}))],
            vec![secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)])],
        );
        let mut told = fixture.feed.subscribe();
        assert!(told.try_recv().is_ok());
        let mut object = cluster("a", json!({}));
        object["status"] = json!({"ready": true});
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(object));
        fixture.take(RegistrationKind::Secret, WatchEvent::Applied(secret("other", &[("v", "x")])));
        fixture.take(
            RegistrationKind::Secret,
            WatchEvent::Applied(secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)])),
        );
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn a_renewed_kubeconfig_counts_once_it_is_there() {
        let option = json!({"renewTokenRequestInterval": "1h", "kubeconfigKeyName": "renewed"});
        let spec = json!({"kubeconfigKeyName": "v", "tokenRequestRenewalOption": option});
        let kubeconfig = |data: &[(&str, &str)]| secret("a-sveltos-kubeconfig", data);
        let mut fixture = Fixture::listed(vec![cluster("a", spec)], vec![kubeconfig(&[("v", KUBECONFIG)])]);
        assert_eq!(fixture.access("a"), Some(Ok(KUBECONFIG.to_owned())));
        let both = kubeconfig(&[("renewed", "clusters: [new]"), ("v", KUBECONFIG)]);
        fixture.take(RegistrationKind::Secret, WatchEvent::Applied(both));
        assert_eq!(fixture.access("a"), Some(Ok("clusters: [new]".to_owned())));
    }

    #[test]
    fn that_a_token_was_renewed_is_told_and_nothing_else_of_a_status() {
        let option = json!({"tokenRequestRenewalOption": {"renewTokenRequestInterval": "1h"}});
        let mut fixture = Fixture::listed(vec![cluster("a", option.clone())], Vec::new());
        let mut told = fixture.feed.subscribe();
        told.try_recv().unwrap();
        let mut object = cluster("a", option);
        for (field, news) in [("version", false), ("lastReconciledTokenRequestAt", true)] {
            object["status"][field] = json!("1970-01-01T00:00:01Z");
            fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(object.clone()));
            assert_eq!(told.try_recv().is_ok(), news, "{field}");
        }
    }

    #[test]
    fn a_cluster_is_reached_with_an_identity_where_its_namespace_may() {
        let identity = json!({"provider": "GCP", "endpoint": "10.0.0.1", "caSecretRef": {"name": "ca"}});
        let registration = cluster("a", json!({"workloadIdentity": identity}));
        let authority = secret("ca", &[("ca.crt", "PEM"), ("tls.key", "not for this")]);
        let mut fixture = Fixture::listed(vec![registration.clone()], vec![authority.clone()]);
        let error = fixture.access("a").unwrap().unwrap_err();
        assert!(
            error.contains("registrations of namespace default may not use the identity of Sluice"),
            "{error}"
        );

        fixture.registrations.accepted.identities = "default".parse().unwrap();
        fixture.take(RegistrationKind::Secret, WatchEvent::Listed(vec![authority]));
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Listed(vec![registration]));
        let text = fixture.access("a").unwrap().unwrap();
        assert!(text.contains("https://10.0.0.1") && text.contains(&STANDARD.encode("PEM")), "{text}");
        assert!(!text.contains(&STANDARD.encode("not for this")));
        assert_eq!(fixture.feed.get(&ClusterRef::sveltos("default", "a")).unwrap().trust, Trust::Identity);

        fixture.take(RegistrationKind::Secret, WatchEvent::Deleted(secret("ca", &[])));
        let error = fixture.access("a").unwrap().unwrap_err();
        assert!(
            error.contains("Secret ca of spec.workloadIdentity.caSecretRef has no key ca.crt"),
            "{error}"
        );
        let wrong = cluster("a", json!({"workloadIdentity": {"provider": "IBM", "endpoint": "c"}}));
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(wrong));
        assert!(fixture.access("a").unwrap().unwrap_err().contains("spec.workloadIdentity.provider"));
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(cluster("a", json!({}))));
        assert!(fixture.access("a").unwrap().unwrap_err().contains("Secret a-sveltos-kubeconfig"));
    }

    #[test]
    fn a_cluster_api_cluster_is_told_when_its_control_plane_is_initialised() {
        let capi = |initialised: bool| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": {"namespace": "default", "name": "w"},
                "spec": {}, "status": {"initialization": {"controlPlaneInitialized": initialised}}})
        };
        let kubeconfig = secret("w-kubeconfig", &[("ca", "clusters: [other]"), ("value", KUBECONFIG)]);
        let mut fixture = Fixture::listed(Vec::new(), vec![kubeconfig]);
        fixture.take(RegistrationKind::Capi, WatchEvent::Applied(capi(false)));
        assert_eq!(fixture.access("w"), None);
        fixture.take(RegistrationKind::Capi, WatchEvent::Applied(capi(true)));
        assert_eq!(fixture.access("w"), Some(Ok(KUBECONFIG.to_owned())));
        fixture.take(RegistrationKind::Capi, WatchEvent::Listed(vec![capi(false)]));
        assert_eq!(fixture.access("w"), None);
    }

    #[test]
    fn where_an_annotation_is_needed_a_cluster_api_cluster_comes_with_it_and_goes_with_it() {
        let capi = |annotations: Value| {
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {}, "status": {"controlPlaneReady": true},
                "metadata": {"namespace": "default", "name": "w", "annotations": annotations}})
        };
        let with = || capi(json!({"onboard-capi": "yes"}));
        let kubeconfig = secret("w-kubeconfig", &[("value", KUBECONFIG)]);
        let mut fixture = Fixture::listed(vec![cluster("a", json!({}))], vec![kubeconfig]);
        fixture.registrations.accepted.onboarding = "onboard-capi".parse().unwrap();
        fixture.take(RegistrationKind::Capi, WatchEvent::Applied(capi(json!({}))));
        assert_eq!(fixture.access("w"), None);
        fixture.take(RegistrationKind::Capi, WatchEvent::Applied(with()));
        assert_eq!(fixture.access("w"), Some(Ok(KUBECONFIG.to_owned())));
        fixture.take(RegistrationKind::Capi, WatchEvent::Applied(capi(json!({}))));
        assert_eq!(fixture.access("w"), None);
        fixture.take(RegistrationKind::Capi, WatchEvent::Listed(vec![with()]));
        assert!(fixture.access("w").is_some());
        fixture.take(RegistrationKind::Capi, WatchEvent::Listed(vec![capi(json!({"other": "yes"}))]));
        assert_eq!(fixture.access("w"), None);
        assert!(fixture.access("a").is_some(), "a SveltosCluster needs none");
    }

    #[test]
    fn a_pause_is_told_and_its_end() {
        let mut fixture = Fixture::listed(
            vec![cluster("a", json!({"paused": true}))],
            vec![secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)])],
        );
        let mut told = fixture.feed.subscribe();
        assert!(told.try_recv().unwrap().paused);
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(cluster("a", json!({"paused": false}))));
        assert!(!told.try_recv().unwrap().paused);
    }

    #[test]
    fn a_pause_that_ends_by_itself_is_told_at_its_end() {
        const END: i64 = 1_000_000;
        let mut paused = cluster("a", json!({}));
        paused["metadata"]["annotations"] = json!({"sluice.dev/paused-until": "1970-01-01T00:00:01Z"});
        let clusters = vec![paused, cluster("b", json!({}))];
        let fixture = Fixture::listed(clusters, vec![secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)])]);
        let mut told = fixture.feed.subscribe();
        let (registrations, feed) = (&fixture.registrations, &fixture.feed);
        assert!(told.try_recv().unwrap().paused);
        assert!(!told.try_recv().unwrap().paused);
        assert_eq!((registrations.next(0), registrations.next(END)), (Some(END), None));
        registrations.turn(END - 1, feed);
        assert!(told.try_recv().is_err());
        registrations.turn(END, feed);
        assert!(!told.try_recv().unwrap().paused);
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn nothing_is_told_before_every_kind_was_listed_and_then_everything() {
        let mut fixture = Fixture { registrations: Registrations::default(), feed: ClusterFeed::new() };
        let named = || vec![secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)])];
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Listed(vec![cluster("a", json!({}))]));
        fixture.take(RegistrationKind::Sveltos, WatchEvent::Applied(cluster("b", json!({}))));
        fixture.take(RegistrationKind::Capi, WatchEvent::Listed(Vec::new()));
        assert!(fixture.feed.keys().is_empty(), "it would be told that there is no Secret");
        fixture.take(RegistrationKind::Secret, WatchEvent::Listed(named()));
        assert!(fixture.feed.is_synced());
        assert_eq!(fixture.access("a"), Some(Ok(KUBECONFIG.to_owned())));
        assert!(fixture.access("b").unwrap().is_err());
    }

    #[test]
    fn trouble_with_the_management_cluster_changes_nothing() {
        let kubeconfigs = vec![secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)])];
        let mut fixture = Fixture::listed(vec![cluster("a", json!({}))], kubeconfigs);
        let mut told = fixture.feed.subscribe();
        assert!(told.try_recv().is_ok());
        for kind in RegistrationKind::ALL {
            for event in [WatchEvent::Trouble("no answer".into()), WatchEvent::Version(7), WatchEvent::Well] {
                fixture.take(kind, event);
            }
        }
        assert!(told.try_recv().is_err());
        assert_eq!(fixture.access("a"), Some(Ok(KUBECONFIG.to_owned())));
    }

    #[test]
    fn a_secret_serves_the_clusters_of_its_namespace_only() {
        let mut elsewhere = secret("a-sveltos-kubeconfig", &[("v", KUBECONFIG)]);
        elsewhere["metadata"]["namespace"] = json!("other");
        let mut fixture = Fixture::listed(vec![cluster("a", json!({}))], vec![elsewhere]);
        assert!(fixture.access("a").unwrap().unwrap_err().contains("does not exist"));
        let own = secret("a-sveltos-kubeconfig", &[("v", "clusters: [own]")]);
        fixture.take(RegistrationKind::Secret, WatchEvent::Applied(own));
        assert_eq!(fixture.access("a"), Some(Ok("clusters: [own]".to_owned())));
    }

    #[test]
    fn the_absence_of_a_kubeconfig_is_explained() {
        let of = |spec: Value, data: &[(&str, &str)]| {
            Fixture::listed(vec![cluster("a", spec)], vec![secret("a-sveltos-kubeconfig", data)])
                .access("a")
                .unwrap()
        };
        assert_eq!(of(json!({}), &[("note", "x"), ("v", KUBECONFIG)]).unwrap(), KUBECONFIG);
        let key = json!({"kubeconfigKeyName": "k"});
        assert_eq!(of(key.clone(), &[("a", "clusters"), ("k", "as named")]).unwrap(), "as named");
        assert!(of(key, &[("v", KUBECONFIG)]).unwrap_err().contains("has no key k"));
        assert_eq!(of(json!({}), &[("v", "x")]).unwrap(), "x", "who reads it says what is wrong with it");
        assert!(of(json!({}), &[]).unwrap_err().contains("is empty"));
        let own = json!({"kubeconfigName": "own"});
        let other = Fixture::listed(vec![cluster("a", own)], vec![secret("own", &[("v", "x")])]);
        assert!(other.access("a").unwrap().unwrap_err().contains("holds no kubeconfig"));
    }
}
