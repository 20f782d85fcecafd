//! Renewing against simulated clusters, and against a server that refuses.
#![allow(clippy::unwrap_used)]

use sluice_api::model::KubeconfigRef;
use sluice_kube::fake_api::FakeApi;
use sluice_simcluster::{FleetConfig, SimFleet};

use super::*;

const TRUST: Trust = Trust::Registered { proxies: false };
const MINUTE: i64 = 60 * SECOND;

/// A management cluster and one that is registered there, with a ServiceAccount `sluice/robot`.
struct Fixture {
    fleet: SimFleet,
    cluster: ClusterRef,
    renewal: TokenRenewal,
}

// === impl Fixture ===

impl Fixture {
    async fn start() -> Self {
        drop(sluice_runtime::install_defaults());
        let clusters = ["management", "c"].map(str::to_owned).into();
        let fleet = SimFleet::start(FleetConfig { clusters, ..FleetConfig::default() }).await.unwrap();
        let renewal = TokenRenewal {
            interval: 20 * MINUTE,
            duration: 40 * MINUTE,
            namespace: "sluice".into(),
            name: "robot".into(),
            kubeconfig: KubeconfigRef { secret: "c-sveltos-kubeconfig".into(), renewed: None, key: None },
            last: 0,
        };
        let fixture = Self { fleet, cluster: ClusterRef::sveltos("default", "c"), renewal };
        for object in [
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "sluice"}}),
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "sluice", "name": "robot"}}),
        ] {
            fixture.fleet.apply("c", "test", object).unwrap();
        }
        fixture.register(&fixture.fleet.kubeconfig(&["c"]));
        fixture
    }

    fn register(&self, kubeconfig: &str) {
        let data = json!({"kubeconfig": STANDARD.encode(kubeconfig), "other": "YQ=="});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": data,
            "metadata": {"namespace": "default", "name": "c-sveltos-kubeconfig", "labels": {"mine": "yes"}}});
        self.fleet.apply("management", "test", secret).unwrap();
    }

    fn secret(&self) -> Value {
        self.fleet.get("management", "v1", "Secret", "default", "c-sveltos-kubeconfig").unwrap()
    }

    fn kubeconfig(&self, key: &str) -> String {
        let secret = self.secret();
        String::from_utf8(STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap()).unwrap()
    }

    async fn management(&self) -> Client {
        client_of_kubeconfig(&self.fleet.kubeconfig(&["management"]), Trust::Own).await.unwrap()
    }

    async fn renew(&self, allowed: bool) -> Result<TokenLife, String> {
        let management = self.management().await;
        let renew = Renew { management, trust: TRUST, cluster: &self.cluster, renewal: &self.renewal };
        renew.run(|| allowed).await
    }
}

fn claims(kubeconfig: &str) -> Claims {
    Claims::of(&token_user(kubeconfig).unwrap().token.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_replaced_and_nothing_else_of_the_secret() {
    let fixture = Fixture::start().await;
    let before = fixture.kubeconfig("kubeconfig");
    let life = fixture.renew(true).await.unwrap();
    assert_eq!(life.expires.unwrap() - life.issued.unwrap(), 40 * MINUTE);
    let (after, secret) = (fixture.kubeconfig("kubeconfig"), fixture.secret());
    let claims = claims(&after);
    assert_eq!(claims.account, Some(("sluice".to_owned(), "robot".to_owned())));
    assert_eq!(after, with_token(&before, &token_user(&after).unwrap().token.unwrap()).unwrap());
    assert_eq!(
        (&secret["data"]["other"], &secret["metadata"]["labels"]["mine"]),
        (&json!("YQ=="), &json!("yes"))
    );
    let own = client_of_kubeconfig(&after, TRUST).await.unwrap();
    assert!(own.apiserver_version().await.is_ok(), "the cluster takes it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_token_it_is_says_the_present_one_where_nobody_has_written_it() {
    let mut fixture = Fixture::start().await;
    fixture.renew(true).await.unwrap();
    (fixture.renewal.namespace, fixture.renewal.name) = (String::new(), String::new());
    let first = fixture.kubeconfig("kubeconfig");
    fixture.renewal.duration = 50 * MINUTE;
    let life = fixture.renew(true).await.unwrap();
    assert_eq!(life.expires.unwrap() - life.issued.unwrap(), 50 * MINUTE);
    assert_ne!(fixture.kubeconfig("kubeconfig"), first);
    fixture.register(&fixture.fleet.kubeconfig(&["c"]));
    let error = fixture.renew(true).await.unwrap_err();
    assert!(error.starts_with("spec.tokenRequestRenewalOption.saName: "), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_kubeconfig_may_go_under_a_key_of_its_own() {
    let mut fixture = Fixture::start().await;
    fixture.renewal.kubeconfig.renewed = Some("renewed".into());
    let before = fixture.kubeconfig("kubeconfig");
    fixture.renew(true).await.unwrap();
    let first = fixture.kubeconfig("renewed");
    assert_eq!(fixture.kubeconfig("kubeconfig"), before, "what the user wrote stays");
    assert!(claims(&first).account.is_some());
    fixture.renewal.duration = 50 * MINUTE;
    (fixture.renewal.namespace, fixture.renewal.name) = (String::new(), String::new());
    fixture.renew(true).await.unwrap();
    assert_ne!(fixture.kubeconfig("renewed"), first, "the renewed one is renewed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_renewed_stays_as_it_is_and_says_why() {
    let mut fixture = Fixture::start().await;
    let before = fixture.secret();
    let error = fixture.renew(false).await.unwrap_err();
    assert!(error.contains("lapsed"), "{error}");
    fixture.renewal.name = "nobody".into();
    let error = fixture.renew(true).await.unwrap_err();
    assert!(error.contains("sluice/nobody") && error.contains("correct saNamespace and saName"), "{error}");
    fixture.renewal.name = "robot".into();
    fixture.fleet.faults("c").expire_token(true);
    let error = fixture.renew(true).await.unwrap_err();
    assert!(error.contains("register the cluster once more"), "{error}");
    assert_eq!(fixture.secret(), before);
    fixture.renewal.kubeconfig.secret = "elsewhere".into();
    let error = fixture.renew(true).await.unwrap_err();
    assert!(error.starts_with("Secret default/elsewhere: "), "{error}");
}

/// A management cluster that has this kubeconfig, and does with what is written as `write` says.
fn management(kubeconfig: &str, write: impl Fn(&str) -> (u16, Value) + Send + 'static) -> FakeApi {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c-sveltos-kubeconfig", "resourceVersion": "7"},
        "data": {"value": STANDARD.encode(kubeconfig)}});
    FakeApi::start(move |request| {
        let (code, answer) = match request.method.as_str() {
            "PATCH" => write(&request.body),
            _ => (200, secret.clone()),
        };
        (code, answer.to_string())
    })
}

fn status(code: u16, message: &str) -> Value {
    json!({"kind": "Status", "status": "Failure", "reason": "x", "code": code, "message": message})
}

async fn renew_in(management: &FakeApi, fixture: &Fixture) -> Result<TokenLife, String> {
    let management = management.client();
    Renew { management, trust: TRUST, cluster: &fixture.cluster, renewal: &fixture.renewal }
        .run(|| true)
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_else_has_written_in_between_is_not_overwritten() {
    let fixture = Fixture::start().await;
    let management = management(&fixture.fleet.kubeconfig(&["c"]), |body| {
        let patch: Value = body.parse().unwrap();
        assert_eq!(
            (&patch["metadata"]["resourceVersion"], patch["data"].as_object().unwrap().len()),
            (&json!("7"), 1)
        );
        (409, status(409, "the object has been modified"))
    });
    let error = renew_in(&management, &fixture).await.unwrap_err();
    assert!(error.contains("somebody else has just written it"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_lacks_in_the_management_cluster_is_named_with_what_gives_it() {
    let fixture = Fixture::start().await;
    let denied = "secrets \"x\" is forbidden: User \"u\" cannot patch resource \"secrets\" in API group \"\"";
    let management = management(&fixture.fleet.kubeconfig(&["c"]), move |_| (403, status(403, denied)));
    let error = renew_in(&management, &fixture).await.unwrap_err();
    for part in
        ["cannot patch resource \"secrets\"", "sluice install check --only rights", "rbac.renewTokens"]
    {
        assert!(error.contains(part), "{error}");
    }
}

/// A cluster that gives a token, or refuses, and says whether that may ask for the next one.
fn giving(code: u16, allowed: bool) -> FakeApi {
    FakeApi::start(move |request| {
        let answer = match request.path.ends_with("/token") {
            true if code == 201 => {
                json!({"kind": "TokenRequest", "status": {"token": "planted", "expirationTimestamp": "2100-01-01T00:00:00Z"}})
            }
            true => status(
                code,
                "serviceaccounts \"robot\" is forbidden: User \"u\" cannot create resource \"serviceaccounts/token\"",
            ),
            false => json!({"kind": "SelfSubjectAccessReview", "status": {"allowed": allowed}}),
        };
        (if request.path.ends_with("/token") { code } else { 201 }, answer.to_string())
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_could_not_renew_itself_is_not_written() {
    let fixture = Fixture::start().await;
    let cluster = giving(201, false);
    let management = management(&cluster.kubeconfig(), |_| unreachable!("it is not written"));
    let error = renew_in(&management, &fixture).await.unwrap_err();
    assert!(
        error.contains("sluice/robot") && error.contains("allow it create of serviceaccounts/token"),
        "{error}"
    );
    assert!(!error.contains("planted"), "{error}");
    let asked = cluster.requests().last().unwrap().header("authorization").map(str::to_owned);
    assert_eq!(asked.as_deref(), Some("Bearer planted"), "the new one asks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_gives_no_token_says_what_to_allow() {
    let fixture = Fixture::start().await;
    let management = management(&giving(403, true).kubeconfig(), |_| unreachable!("it is not written"));
    let error = renew_in(&management, &fixture).await.unwrap_err();
    assert!(
        error.contains("serviceaccounts/token there, in namespace sluice with the resourceName robot"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_says_nothing_lives_as_long_as_the_server_says() {
    let fixture = Fixture::start().await;
    let management = management(&giving(201, true).kubeconfig(), |_| (200, json!({"kind": "Secret"})));
    let life = renew_in(&management, &fixture).await.unwrap();
    assert_eq!((life.issued, life.expires), (None, Some(4_102_444_800 * SECOND)));
}
