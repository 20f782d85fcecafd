//! Charts: fetched from a repository that wants a password, and rendered.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use sluice_api::object;
use sluice_bus::{Bus, Connection, ReadSpec, look};
use sluice_protocol::{Body, Capabilities, Publish, Row, Shard, Subject, Table};
use sluice_renderer::ChartSettings;
use sluice_runtime::kit;

use super::{CONFIG, MANAGEMENT, Stand, cluster, desired, is, log};

/// The password of the repository, as a Secret has it, with its user as a request has it, and the token that a registry gives for
/// it; and a key that lies beside it.
pub const SECRETS: &[&str] =
    &["hidden-word", "aGlkZGVuLXdvcmQ=", "bWU6aGlkZGVuLXdvcmQ=", "token-in-hiding", "a2V5LWluLWhpZGluZw=="];
const PASSWORD: &str = SECRETS[1];
const LOGIN: &str = SECRETS[2];
const TOKEN: &str = SECRETS[3];
const KEY: &str = SECRETS[4];

/// Its object says `of` and `mark` as its values do.
const SAYS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n\
    data: {of: '{{ .Values.of }}', mark: '{{ .Values.mark }}', version: '{{ .Chart.Version }}'}\n";
/// What nobody can know beforehand.
const DRAWS: &str = "{{ $k := genPrivateKey \"ecdsa\" }}{{ $ca := genCAWithKey \"ca\" 3650 $k }}\
    {{ $c := genSignedCertWithKey \"web\" nil (list \"web\") 3650 $ca (genPrivateKey \"ecdsa\") }}apiVersion: v1\n\
    kind: Secret\nmetadata: {name: '{{ .Release.Name }}'}\ndata: {password: {{ randAlphaNum 20 | b64enc }}, ca: {{ $ca.Cert | b64enc }}, \
    cert: {{ $c.Cert | b64enc }}, key: {{ $c.Key | b64enc }}}\n";

fn archive(version: &str, template: &str) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(encoder);
    let head = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    for (path, text) in [("web/Chart.yaml", head.as_str()), ("web/templates/x.yaml", template)] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

/// A repository, and a registry, with versions of a chart; it goes with what is kept here.
struct Repository {
    url: String,
    versions: Arc<Mutex<Vec<&'static str>>>,
    _tasks: sluice_tasks::Group,
}

impl Repository {
    /// It gives nothing without the password, where one is wanted.
    async fn start(template: &'static str, has_password: bool) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let versions = Arc::new(Mutex::new(vec!["1.2.0"]));
        let (known, address) = (versions.clone(), url.clone());
        let serve = async move |request: Request| {
            let said = request
                .headers()
                .get("authorization")
                .and_then(|said| said.to_str().ok())
                .unwrap_or_default();
            let path = request.uri().path();
            let wanted =
                if path.starts_with("/v2/") { format!("Bearer {TOKEN}") } else { format!("Basic {LOGIN}") };
            if has_password && said != wanted {
                let realm = format!("Bearer realm=\"{address}/token\",service=\"r\"");
                return (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, realm)]).into_response();
            }
            page(path, &known.lock().unwrap(), template)
        };
        let tasks = sluice_tasks::Tasks::default().group("repository");
        tasks.spawn(sluice_tasks::Once::Admin, async move {
            axum::serve(listener, axum::Router::new().fallback(serve)).await.unwrap();
            sluice_tasks::End::Done
        });
        Self { url, versions, _tasks: tasks }
    }
}

fn page(path: &str, versions: &[&str], template: &str) -> Response {
    let digest = |version: &str| sluice_api::digest::sveltos_hash(&archive(version, template));
    if path == "/token" {
        return json!({"token": TOKEN}).to_string().into_response();
    }
    if path == "/index.yaml" {
        let entry = |version: &&str| json!({"version": version, "urls": [format!("{version}.tgz")]});
        return json!({"entries": {"web": versions.iter().map(entry).collect::<Vec<_>>()}})
            .to_string()
            .into_response();
    }
    let last = path.rsplit('/').next().unwrap();
    if path.contains("/manifests/") {
        let layer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
        return json!({"layers": [{"mediaType": layer, "digest": digest(last)}]}).to_string().into_response();
    }
    let version =
        versions.iter().find(|version| last == digest(version) || last.trim_end_matches(".tgz") == **version);
    version
        .map_or(StatusCode::NOT_FOUND.into_response(), |version| archive(version, template).into_response())
}

/// The chart as a profile names it.
fn chart(repository: &str, release: &str, more: Value) -> Value {
    let mut chart = json!({"repositoryURL": repository, "repositoryName": "r", "chartName": "r/web", "chartVersion": "1.x",
        "releaseName": release, "releaseNamespace": "default"});
    chart.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    chart
}

fn profile(charts: &[Value]) -> Value {
    json!({"apiVersion": CONFIG, "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "helmCharts": charts}})
}

/// The agent says what the cluster can do: before that no chart is rendered for it.
async fn capable(bus: &Bus) {
    let known = Capabilities { version: "v1.33.1".into(), ..Capabilities::default() };
    let body = Body::value(sluice_protocol::json::bytes(&known));
    kit::write(bus, [Publish::new(Capabilities::subject(&cluster()), body, 0)]).await;
}

/// `data` of the only object that the row of the profile deploys.
fn data(row: &Row) -> Option<Value> {
    let desired: sluice_protocol::rows::Desired = serde_json::from_slice(&row.body).ok()?;
    object::at(desired.policies.first()?.objects.first()?, &["data"]).cloned()
}

fn of_profile(row: &Row) -> bool {
    matches!(&row.subject, Subject::Desired { profile, .. } if profile.name == "p")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chart_is_fetched_with_the_password_of_a_secret_and_rendered_again_with_its_values() {
    let (place, repository) = (Stand::start().await, Repository::start(SAYS, true).await);
    let named = |kind: &str, name: &str, content: Value| {
        let mut object =
            json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": "default", "name": name}});
        object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        object
    };
    let login = |password: &str| {
        named(
            "Secret",
            "login",
            json!({"type": "Opaque", "data": {"username": "bWU=", "password": password, "tls.key": KEY}}),
        )
    };
    let values = |mark: &str| {
        named("ConfigMap", "values", json!({"data": {"values.yaml": format!("{{of: other, mark: {mark}}}")}}))
    };
    place.put(login("d3Jvbmc="));
    place.put(values("small"));
    let login_of = json!({"registryCredentialsConfig": {"credentials": {"namespace": "default", "name": "login"}, "plainHTTP": true},
        "values": "of: '{{ .Cluster.metadata.name }}'", "chartVersion": "1.2.0",
        "valuesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": "values"}]});
    let registry = repository.url.replace("http://", "oci://") + "/charts";
    let charts = [chart(&repository.url, "site", login_of.clone()), chart(&registry, "other", login_of)];
    place.put(profile(&charts));
    place
        .render(async |bus| {
            let told = || place.get(CONFIG, "ClusterProfile", "p").unwrap()["status"].to_string();
            // Its agent says what the cluster can do: before that no chart is rendered for it.
            kit::until(|| told().contains("charts wait until the agents of")).await;
            capable(bus).await;
            kit::until(|| told().contains("401 Unauthorized")).await;
            assert!(!told().contains("wrong"), "{}", told());
            let tells = |reason: &str| {
                let events = place.fleet.list(MANAGEMENT, "v1", "Event", "default").unwrap();
                let is_it =
                    |event: &Value| event["reason"] == reason && event["involvedObject"]["name"] == "p";
                events.iter().any(|event| is_it(event) && event["message"].as_str().unwrap().contains("401"))
            };
            kit::until(|| tells("Problem")).await;
            place.put(login(PASSWORD));
            desired(bus, is("c", "small")).await;
            kit::until(|| tells("Resolved")).await;
            place.put(values("large"));
            desired(bus, is("c", "large")).await;
            // What is not read by anybody but the fetcher is nowhere but in its Secret.
            let seen = place.everything_but(bus, "login").await;
            assert!(seen.contains("large") && seen.contains("ClusterProfile p"), "it is not read: {seen}");
            for secret in SECRETS {
                let at = seen.find(secret).map(|at| &seen[at.saturating_sub(200)..at]);
                assert_eq!(at, None, "{secret}");
            }
            let (lines, others) = log::seen();
            assert!(others > 1_000, "the log is not read");
            assert_eq!(lines, Vec::<String>::new());
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_finds_a_new_version_and_loses_one_that_is_withdrawn() {
    let (place, repository) = (Stand::start().await, Repository::start(SAYS, false).await);
    place.put(profile(&[chart(&repository.url, "site", json!({"values": "{of: c, mark: x}"}))]));
    let settings = ChartSettings { again: Duration::from_millis(100), ..ChartSettings::default() };
    place
        .render_with(settings, async |bus| {
            capable(bus).await;
            let version = |wanted: &'static str| {
                move |row: &Row| data(row).is_some_and(|data| data["version"] == wanted)
            };
            desired(bus, version("1.2.0")).await;
            repository.versions.lock().unwrap().extend(["1.3.0", "2.0.0"]);
            desired(bus, version("1.3.0")).await;
            *repository.versions.lock().unwrap() = vec!["1.2.0", "2.0.0"];
            desired(bus, version("1.2.0")).await;
        })
        .await;
}

/// Passwords, keys and certificates of a chart stay what they are: nothing changes in a cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_chart_draws_stays_over_a_take_over_and_a_wiped_bus() {
    let (place, repository) = (Stand::start().await, Repository::start(DRAWS, false).await);
    place.put(profile(&[chart(&repository.url, "site", json!({}))]));
    let mut made = Vec::new();
    for _ in 0..2 {
        let drawn = async |bus: &Bus| {
            capable(bus).await;
            made.push(desired(bus, |row| of_profile(row) && data(row).is_some()).await);
        };
        place.render(drawn).await;
        let after = async |bus: &Bus| {
            // Whoever takes over decides on all profiles at once, and on what is new afterwards.
            for name in ["q", "r"] {
                let mut other = profile(&[chart(&repository.url, name, json!({}))]);
                other["metadata"]["name"] = name.into();
                place.put(other);
                let is_it = |row: &Row| matches!(&row.subject, Subject::Desired { profile, .. } if profile.name == name);
                desired(bus, is_it).await;
            }
            let rows = look(bus, &ReadSpec::all(Table::Desired.stream(Shard::FIRST))).await.unwrap();
            let row = rows.iter().find(|stored| of_profile(&stored.row));
            assert_eq!(row.map(|stored| stored.row.sequence), made.last().map(|row| row.sequence));
        };
        place.render(after).await;
        for name in ["q", "r"] {
            assert!(place.fleet.delete(MANAGEMENT, CONFIG, "ClusterProfile", "", name).unwrap());
        }
        assert!(sluice_bus::wipe(&Connection::plain(place.server.url()), "").await.unwrap() > 0);
    }
    let made: Vec<Value> = made.iter().filter_map(data).collect();
    assert_eq!(made[0], made[1]);
    let text = |field: &str| made[0][field].as_str().unwrap().len();
    assert!(text("password") > 20 && text("cert") > 400, "{:?}", made[0]);
}
