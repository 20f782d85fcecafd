//! Fetching from a repository of our own, on loopback.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use futures::{StreamExt as _, stream};
use sluice_api::digest::sveltos_hash;
use sluice_chart::{Chart, LoadLimits};
use sluice_renderer_core::{Access, LoadedChart};
use sluice_tasks::Once;

use super::*;

mod known;
mod reach;
mod strangers;
mod trouble;
mod ways;

const PASSWORD: &str = "hidden-word";

/// What is answered, by path; and who asked for what.
#[derive(Default)]
struct Served {
    pages: BTreeMap<String, Page>,
    asked: Vec<String>,
    /// The header without which nothing is given.
    wanted: Option<String>,
    challenge: Option<String>,
}

#[derive(Clone, Default)]
struct Page {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    end: Ending,
}

/// How an answer ends.
#[derive(Clone, Copy, Default, PartialEq)]
enum Ending {
    #[default]
    Whole,
    /// The connection breaks within the body.
    Breaks,
    /// The rest never comes.
    Hangs,
}

/// A repository, and a registry.
#[derive(Clone)]
struct Fake {
    address: String,
    served: Arc<Mutex<Served>>,
    _tasks: Arc<Group>,
}

impl Fake {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self::on(listener, address)
    }

    fn on<L: axum::serve::Listener<Addr: std::fmt::Debug>>(listener: L, address: String) -> Self {
        let served = Arc::<Mutex<Served>>::default();
        let router = axum::Router::new().fallback(any(answer)).with_state(served.clone());
        let tasks = Tasks::default().group("fake");
        tasks.spawn(Once::Admin, async move {
            axum::serve(listener, router).await.unwrap();
            End::Done
        });
        Self { address, served, _tasks: Arc::new(tasks) }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn change(&self, change: impl FnOnce(&mut Served)) {
        change(&mut self.served.lock().unwrap());
    }

    fn serve(&self, path: &str, body: impl Into<Vec<u8>>) {
        let page = Page { status: 200, body: body.into(), ..Page::default() };
        self.change(|served| drop(served.pages.insert(path.into(), page)));
    }

    fn head(&self, path: &str, name: &'static str, value: &str) {
        self.change(|served| served.pages.get_mut(path).unwrap().headers.push((name, value.into())));
    }

    fn end(&self, path: &str, end: Ending) {
        self.change(|served| served.pages.get_mut(path).unwrap().end = end);
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.served.lock().unwrap().asked)
    }

    /// An index with these versions of the chart `web`, whose archives are beside it.
    fn publish(&self, versions: &[&str]) {
        let mut index = "apiVersion: v1\nentries:\n  web:\n".to_owned();
        for version in versions {
            let archive = archive(version);
            let digest = sveltos_hash(&archive);
            let digest = digest.trim_start_matches("sha256:");
            index += &format!("  - {{version: {version}, digest: {digest}, urls: [web-{version}.tgz]}}\n");
            self.serve(&format!("/charts/web-{version}.tgz"), archive);
        }
        self.serve("/charts/index.yaml", index);
    }

    fn request(&self, version: &str) -> ChartRequest {
        let repository = format!("{}/charts", self.url());
        ChartRequest { repository, name: "web".into(), version: version.into(), access: Access::default() }
    }

    /// The same chart in a registry that gives tokens for the password.
    fn push(&self, version: &str) {
        let archive = archive(version);
        let digest = sveltos_hash(&archive);
        let layer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
        let manifest = serde_json::json!({"layers": [{"mediaType": layer, "digest": digest}]}).to_string();
        let path = format!("/v2/charts/web/manifests/{}", version.replace('+', "_"));
        self.serve(&path, manifest.clone());
        self.head(&path, "docker-content-digest", &sveltos_hash(manifest.as_bytes()));
        self.serve(&format!("/v2/charts/web/blobs/{digest}"), archive);
    }

    fn oci(&self, version: &str) -> ChartRequest {
        let access = Access { plain_http: true, ..Access::default() };
        let repository = format!("oci://{}/charts", self.address);
        ChartRequest { repository, access, ..self.request(version) }
    }
}

async fn answer(State(served): State<Arc<Mutex<Served>>>, request: Request) -> Response {
    let mut served = served.lock().unwrap();
    let path = request.uri().path().to_owned();
    let said = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    served.asked.push(format!("{path}{}", if said.is_some() { " with a password" } else { "" }));
    if path != "/token" && served.wanted.is_some() && served.wanted != said {
        let mut headers = HeaderMap::new();
        headers.extend(served.challenge.iter().map(|text| (WWW_AUTHENTICATE, text.parse().unwrap())));
        return (StatusCode::UNAUTHORIZED, headers).into_response();
    }
    let Some(page) = served.pages.get(&path).cloned() else { return StatusCode::NOT_FOUND.into_response() };
    let known = request.headers().get("if-none-match").map(|value| value.to_str().unwrap());
    if known.is_some_and(|known| page.headers.contains(&("etag", known.to_owned()))) {
        served.asked.push("not modified".into());
        return StatusCode::NOT_MODIFIED.into_response();
    }
    let headers = page
        .headers
        .iter()
        .map(|(name, value)| (::http::HeaderName::from_static(name), value.parse().unwrap()));
    let head = (StatusCode::from_u16(page.status).unwrap(), headers.collect::<HeaderMap>());
    (head.0, head.1, body(page.body, page.end)).into_response()
}

fn body(bytes: Vec<u8>, end: Ending) -> axum::body::Body {
    let half = bytes[..bytes.len() / 2].to_vec();
    let first = stream::iter([Ok::<_, std::io::Error>(half)]);
    match end {
        Ending::Whole => bytes.into(),
        Ending::Breaks => {
            let broken = stream::iter([Err(std::io::Error::other("the cable is cut"))]);
            axum::body::Body::from_stream(first.chain(broken))
        }
        Ending::Hangs => axum::body::Body::from_stream(first.chain(stream::pending())),
    }
}

const WWW_AUTHENTICATE: ::http::HeaderName = ::http::header::WWW_AUTHENTICATE;

fn archive(version: &str) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut tar = tar::Builder::new(encoder);
    let text = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    tar.append_data(&mut header, "web/Chart.yaml", text.as_bytes()).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

fn login() -> (String, String) {
    ("me".into(), PASSWORD.into())
}

/// Looks with a fetcher of its own: the version that was found, or what is wrong.
async fn look(request: &ChartRequest) -> Result<String, String> {
    let (state, _) = Fetcher::new(ChartSettings::default()).look(request, None).await;
    version(state)
}

fn version(state: ChartState) -> Result<String, String> {
    let text = state.trouble.unwrap_or_default();
    assert!(!text.contains(PASSWORD), "{text}");
    state.chart.map(|chart| chart.chart.metadata.version.clone()).ok_or(text)
}

#[tokio::test]
async fn the_newest_version_that_fits_is_fetched_and_known_digests_are_not() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0", "1.10.0", "2.0.0"]);
    let fetcher = Fetcher::new(ChartSettings::default());
    let (state, pause) = fetcher.look(&fake.request("1.x"), None).await;
    assert_eq!((version(state.clone()), pause), (Ok("1.10.0".into()), LOOK_AGAIN));
    assert_eq!(fake.asked(), ["/charts/index.yaml", "/charts/web-1.10.0.tgz"]);
    let (again, _) = fetcher.look(&fake.request("1.x"), state.chart).await;
    assert_eq!((version(again), fake.asked().len()), (Ok("1.10.0".into()), 0), "the index is fresh");
    let (exact, _) = fetcher.look(&fake.request("1.2.0"), None).await;
    assert_eq!((version(exact), fake.asked()), (Ok("1.2.0".into()), vec!["/charts/web-1.2.0.tgz".into()]));
}

#[tokio::test]
async fn a_mirror_is_asked_in_place_of_its_repository_and_gets_no_password() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    let (repository, login) = ("oci://registry.example.com/charts".to_owned(), Some(login()));
    let mirrors = BTreeMap::from([(repository.clone(), fake.request("").repository)]);
    let fetcher = Fetcher::new(ChartSettings { mirrors, ..ChartSettings::default() });
    let access = Access { login, ..Access::default() };
    let request = ChartRequest { repository, access, ..fake.request("1.x") };
    assert_eq!(version(fetcher.look(&request, None).await.0), Ok("1.2.0".into()));
    assert_eq!(fake.asked(), ["/charts/index.yaml", "/charts/web-1.2.0.tgz"]);
}

#[tokio::test]
async fn what_is_not_there_is_named_with_what_to_do() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    let error = look(&fake.request("3.x")).await.unwrap_err();
    assert!(
        error.ends_with("/index.yaml has no version \"3.x\" of \"web\"; correct the name or the version"),
        "{error}"
    );
    let error = look(&ChartRequest { name: "wub".into(), ..fake.request("") }).await.unwrap_err();
    assert!(error.contains("has no chart \"wub\""), "{error}");
    let away = ChartRequest { repository: format!("{}/none", fake.url()), ..fake.request("") };
    assert!(look(&away).await.unwrap_err().contains("404 Not Found; correct the address"));
    fake.serve("/charts/index.yaml", "entries: {web: [");
    assert!(look(&fake.request("")).await.unwrap_err().contains("is no index of charts"));
}

#[tokio::test]
async fn an_archive_that_is_not_what_its_digest_says_is_refused() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    let fetcher = Fetcher::new(ChartSettings::default());
    let (good, _) = fetcher.look(&fake.request(""), None).await;
    fake.publish(&["1.3.0"]);
    let mut short = archive("1.3.0");
    short.truncate(40);
    fake.serve("/charts/web-1.3.0.tgz", short);
    let (state, pause) = Fetcher::new(ChartSettings::default()).look(&fake.request(""), good.chart).await;
    let trouble = state.trouble.clone().unwrap();
    assert!(trouble.contains("web-1.3.0.tgz is not what its digest says"), "{trouble}");
    assert_eq!((version(state), pause < LOOK_AGAIN), (Ok("1.2.0".into()), true), "what is known stays");
    fake.serve("/charts/index.yaml", "entries: {web: [{version: 1.3.0, urls: [web-1.3.0.tgz]}]}");
    assert!(look(&fake.request("")).await.unwrap_err().contains("is no chart: "));
}

#[tokio::test]
async fn a_password_is_sent_to_its_own_host_alone() {
    let (fake, other) = (Fake::start().await, Fake::start().await);
    fake.publish(&["1.2.0"]);
    fake.change(|served| served.wanted = Some(http::basic(&login())));
    let mut request = fake.request("");
    let error = look(&request).await.unwrap_err();
    assert!(error.contains("401 Unauthorized; correct user and password"), "{error}");
    request.access.login = Some(("me".into(), format!("{PASSWORD}!")));
    assert!(look(&request).await.is_err());
    request.access.login = Some(login());
    assert_eq!(look(&request).await, Ok("1.2.0".into()));
    other.serve("/elsewhere.tgz", archive("1.2.0"));
    let moved = Page {
        status: 302,
        headers: vec![("location", format!("{}/elsewhere.tgz?signature=x", other.url()))],
        ..Page::default()
    };
    fake.change(|served| drop(served.pages.insert("/charts/web-1.2.0.tgz".into(), moved)));
    assert_eq!((look(&request).await, other.asked()), (Ok("1.2.0".into()), vec!["/elsewhere.tgz".into()]));
    let index = format!("entries: {{web: [{{version: 1.2.0, urls: ['{}/elsewhere.tgz']}}]}}", other.url());
    fake.serve("/charts/index.yaml", index);
    assert_eq!((look(&request).await, other.asked()), (Ok("1.2.0".into()), vec!["/elsewhere.tgz".into()]));
}

#[tokio::test]
async fn a_registry_gives_charts_for_a_token() {
    let fake = Fake::start().await;
    ["1.2.0", "1.10.0+build.1"].iter().for_each(|version| fake.push(version));
    fake.serve("/v2/charts/web/tags/list", r#"{"tags": ["latest", "1.2.0"]}"#);
    fake.head("/v2/charts/web/tags/list", "link", "</v2/charts/web/tags/more?last=1.2.0>; rel=\"next\"");
    fake.serve("/v2/charts/web/tags/more", r#"{"tags": ["1.10.0_build.1"]}"#);
    assert_eq!(look(&fake.oci("^1")).await, Ok("1.10.0+build.1".into()));
    assert_eq!(look(&fake.oci("1.2.0")).await, Ok("1.2.0".into()));
    assert!(look(&fake.oci("^3")).await.unwrap_err().contains("has no version \"^3\""));
    fake.serve("/token", r#"{"token": "given"}"#);
    let realm =
        format!("Bearer realm=\"{}/token\",service=\"r\",scope=\"repository:charts/web:pull\"", fake.url());
    fake.change(|served| (served.wanted, served.challenge) = (Some("Bearer given".into()), Some(realm)));
    fake.asked();
    let mut request = fake.oci("1.2.0");
    request.access.login = Some(login());
    assert_eq!(look(&request).await, Ok("1.2.0".into()));
    let asked = fake.asked();
    assert_eq!(asked[..2], ["/v2/charts/web/manifests/1.2.0", "/token with a password"]);
}

#[tokio::test]
async fn a_registry_that_gives_something_else_is_refused() {
    let fake = Fake::start().await;
    fake.push("1.2.0");
    fake.serve(&format!("/v2/charts/web/blobs/{}", sveltos_hash(&archive("1.2.0"))), archive("1.2.1"));
    assert!(look(&fake.oci("1.2.0")).await.unwrap_err().contains("is not what its digest says"));
    fake.serve("/v2/charts/web/manifests/1.2.0", r#"{"layers": []}"#);
    assert!(look(&fake.oci("1.2.0")).await.unwrap_err().contains("is no Helm chart"));
    fake.head("/v2/charts/web/manifests/1.2.0", "docker-content-digest", &sveltos_hash(b"other"));
    assert!(look(&fake.oci("1.2.0")).await.unwrap_err().contains("is not what its digest says"));
}

#[tokio::test]
async fn what_is_on_disk_serves_while_the_repository_is_away() {
    let (fake, dir) = (Fake::start().await, tempfile::tempdir().unwrap());
    fake.publish(&["1.2.0"]);
    let fetcher =
        || Fetcher::new(ChartSettings { cache: Some(dir.path().to_owned()), ..ChartSettings::default() });
    assert_eq!(version(fetcher().look(&fake.request(""), None).await.0), Ok("1.2.0".into()));
    fake.asked();
    assert_eq!(version(fetcher().look(&fake.request(""), None).await.0), Ok("1.2.0".into()));
    assert_eq!(fake.asked(), ["/charts/index.yaml"], "the archive is known by its digest");
    fake.change(|served| served.pages.clear());
    let (state, _) = fetcher().look(&fake.request(""), None).await;
    assert!(state.trouble.is_some() && version(state) == Ok("1.2.0".into()));
    let mut other = fake.request("");
    other.access.login = Some(login());
    assert!(fetcher().look(&other, None).await.0.chart.is_none(), "another password gives nothing");
}

#[tokio::test]
async fn a_chart_is_fetched_once_for_all_who_ask_until_nobody_does() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    let charts = Charts::new(ChartSettings::default(), Tasks::default());
    let (first, mut told) = mpsc::unbounded_channel();
    let (second, mut told_too) = mpsc::unbounded_channel();
    let (one, two) = (charts.asking(Shard::new(1), first), charts.asking(Shard::new(2), second));
    one.fetch(fake.request(""));
    two.fetch(fake.request(""));
    for told in [&mut told, &mut told_too] {
        let Some(ExternalInput::Chart(_, state)) = told.recv().await else { panic!("not told of a chart") };
        assert_eq!(version(state), Ok("1.2.0".into()));
    }
    assert_eq!(fake.asked().len(), 2);
    one.unfetch(&fake.request(""));
    assert_eq!(charts.lock().len(), 1);
    drop(two);
    assert!(charts.lock().is_empty());
}

#[test]
fn charts_that_are_in_use_take_so_much_memory_together_and_no_more() {
    let chart = |digest: &str| {
        let mut chart = Chart::from_archive(&archive("1.0.0"), LoadLimits::default()).unwrap();
        chart.schema = Some(vec![b' '; 1000]);
        Arc::new(LoadedChart { digest: digest.to_owned(), chart })
    };
    let one = chart("a").chart.bytes();
    assert!(one > 0);
    let request = |name: &str| {
        ChartRequest::new("https://charts.example.com", name, "1.0.0", Access::default()).unwrap()
    };
    let asked = |known: Option<ChartState>| {
        let (readers, _task) = (HashMap::new(), Tasks::default().group("test"));
        Asked { readers, known, _task }
    };
    let all: BTreeMap<ChartRequest, Asked> = [
        (request("a"), asked(Some(ChartState::there(chart("a"))))),
        (request("same"), asked(Some(ChartState::there(chart("a"))))),
        (request("b"), asked(None)),
    ]
    .into();
    let fits = |digest: &str, together: usize| {
        let state = fitting(&all, &request("b"), ChartState::there(chart(digest)), together);
        (state.chart.is_some(), state.trouble.unwrap_or_default())
    };
    assert_eq!(fits("b", 2 * one), (true, String::new()), "equal charts are there once");
    let (there, trouble) = fits("b", 2 * one - 1);
    assert!(!there && trouble.contains(&format!("take {one} bytes")), "{trouble}");
    assert_eq!(fits("a", one), (true, String::new()), "it is there already");
    // What is known of it stays.
    let state = fitting(&all, &request("a"), ChartState::there(chart("newer")), one);
    assert!(state.chart.is_some_and(|chart| chart.digest == "a") && state.trouble.is_some());
}
