//! Repositories that are slow, break off or are away; and what is said of them.

use std::io::Write;

use super::*;

/// Lines of the log, of every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

#[tokio::test]
async fn an_answer_that_never_ends_is_given_up() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0", "1.3.0"]);
    fake.end("/charts/web-1.3.0.tgz", Ending::Hangs);
    let fetcher = Fetcher::new(ChartSettings::default());
    let (good, _) = fetcher.look(&fake.request("1.2.0"), None).await;
    tokio::time::pause();
    let (state, pause) = fetcher.look(&fake.request(""), good.chart).await;
    let trouble = state.trouble.clone().unwrap();
    assert!(trouble.ends_with("web-1.3.0.tgz does not answer in time; it is tried again"), "{trouble}");
    assert_eq!((version(state), pause), (Ok("1.2.0".into()), Duration::from_secs(1)), "what is known stays");
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    for path in ["/charts/web-1.2.0.tgz", "/charts/index.yaml"] {
        fake.end(path, Ending::Breaks);
        let (state, pause) = Fetcher::new(ChartSettings::default()).look(&fake.request(""), None).await;
        let trouble = version(state).unwrap_err();
        assert!(trouble.contains(path) && trouble.ends_with("; it is tried again"), "{trouble}");
        assert_eq!(pause, Duration::from_secs(1));
        fake.publish(&["1.2.0"]);
    }
    fake.push("1.2.0");
    fake.end(&format!("/v2/charts/web/blobs/{}", sveltos_hash(&archive("1.2.0"))), Ending::Breaks);
    assert!(look(&fake.oci("1.2.0")).await.unwrap_err().ends_with("; it is tried again"));
}

#[tokio::test]
async fn an_index_is_asked_for_by_the_name_of_the_answer_that_is_known() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    fake.head("/charts/index.yaml", "etag", "\"one\"");
    let fetcher = Fetcher::new(ChartSettings::default());
    let (good, _) = fetcher.look(&fake.request(""), None).await;
    fake.asked();
    tokio::time::pause();
    tokio::time::advance(LOOK_AGAIN).await;
    tokio::time::resume();
    let (again, _) = fetcher.look(&fake.request(""), good.chart.clone()).await;
    assert_eq!(fake.asked(), ["/charts/index.yaml", "not modified"]);
    assert_eq!((again.trouble.clone(), version(again)), (None, Ok("1.2.0".into())));
    fake.publish(&["1.2.0", "1.3.0"]);
    fake.head("/charts/index.yaml", "etag", "\"two\"");
    tokio::time::pause();
    tokio::time::advance(LOOK_AGAIN).await;
    tokio::time::resume();
    let (newer, _) = fetcher.look(&fake.request(""), good.chart).await;
    assert_eq!(version(newer), Ok("1.3.0".into()));
    assert_eq!(fake.asked(), ["/charts/index.yaml", "/charts/web-1.3.0.tgz"]);
}

#[tokio::test]
async fn a_host_that_is_away_is_asked_less_and_less_and_what_was_fetched_stays() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    let request = fake.request("");
    let fetcher = Fetcher::new(ChartSettings::default());
    let (mut state, _) = fetcher.look(&request, None).await;
    // Nobody listens there any more.
    let away = TcpPort::closed().await;
    let request = ChartRequest { repository: format!("http://127.0.0.1:{}/charts", away.0), ..request };
    tokio::time::pause();
    for seconds in [1, 2, 4] {
        let (next, pause) = fetcher.look(&request, state.chart).await;
        assert!(next.trouble.as_ref().unwrap().ends_with("; it is tried again"), "{next:?}");
        assert_eq!((version(next.clone()), pause), (Ok("1.2.0".into()), Duration::from_secs(seconds)));
        state = next;
    }
}

/// A port that nobody listens on.
struct TcpPort(u16);

impl TcpPort {
    async fn closed() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self(listener.local_addr().unwrap().port())
    }
}

/// An answer that no repository gives is the fault of who asks for it, not of all who ask the same server.
#[tokio::test]
async fn an_answer_that_is_too_large_makes_nobody_else_wait() {
    let fake = Fake::start().await;
    fake.push("1.2.0");
    fake.serve("/v2/charts/large/manifests/1.2.0", vec![b' '; 5 << 20]);
    let fetcher = Fetcher::new(ChartSettings::default());
    let large = ChartRequest { name: "large".into(), ..fake.oci("1.2.0") };
    let (state, pause) = fetcher.look(&large, None).await;
    let trouble = version(state).unwrap_err();
    assert!(trouble.ends_with("/v2/charts/large/manifests/1.2.0 has more than 4194304 bytes"), "{trouble}");
    assert_eq!(pause, Duration::from_secs(30));
    let request = fake.oci("1.2.0");
    let answered = tokio::time::timeout(Duration::from_millis(900), fetcher.look(&request, None)).await;
    assert_eq!(version(answered.unwrap().0), Ok("1.2.0".into()));
}

/// An index may name any server; that one of them is away says nothing of the repository.
#[tokio::test]
async fn a_server_that_an_index_names_is_not_the_repository() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    let away = format!("http://127.0.0.1:{}/web.tgz", TcpPort::closed().await.0);
    let mut index = "entries: {web: [{version: 1.2.0, urls: [web-1.2.0.tgz]}], ".to_owned();
    index += &format!("away: [{{version: 1.2.0, urls: ['{away}']}}]}}");
    fake.serve("/charts/index.yaml", index);
    let fetcher = Fetcher::new(ChartSettings::default());
    let other = ChartRequest { name: "away".into(), ..fake.request("") };
    let (state, pause) = fetcher.look(&other, None).await;
    assert!(version(state).unwrap_err().ends_with("; it is tried again"));
    assert_eq!(pause, Duration::from_secs(1));
    let request = fake.request("");
    let answered = tokio::time::timeout(Duration::from_millis(900), fetcher.look(&request, None)).await;
    assert_eq!(version(answered.unwrap().0), Ok("1.2.0".into()));
}

#[tokio::test]
async fn no_log_and_no_problem_says_anything_secret() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // While there is one subscriber only, a place that logs first in another test, which has none, is taken to log for nobody.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let (fake, other) = (Fake::start().await, Fake::start().await);
    fake.publish(&["1.2.0"]);
    fake.push("1.2.0");
    other.serve("/elsewhere.tgz", archive("1.2.0"));
    let mut said = String::new();
    let (wanted, token) = (http::basic(&login()), "Bearer token-in-hiding");
    let realm = format!("Bearer realm=\"{}/token\",service=\"r\"", fake.url());
    fake.serve("/token", r#"{"token": "token-in-hiding"}"#);
    for (word, challenge) in [(wanted.as_str(), None), (token, Some(realm)), ("Basic other", None)] {
        fake.change(|served| (served.wanted, served.challenge) = (Some(word.into()), challenge));
        for mut request in [fake.request(""), fake.oci("1.2.0"), fake.request("9")] {
            request.access.login = Some(login());
            let (state, _) = Fetcher::new(ChartSettings::default()).look(&request, None).await;
            said += &format!("{request} {request:?} {state:?}\n");
        }
    }
    let moved = Page {
        status: 302,
        headers: vec![("location", format!("{}/elsewhere.tgz?signature=signed-in-hiding", other.url()))],
        ..Page::default()
    };
    fake.change(|served| {
        served.wanted = None;
        served.pages.insert("/charts/web-1.2.0.tgz".into(), moved);
    });
    assert_eq!(look(&fake.request("")).await, Ok("1.2.0".into()));
    assert!(log.text().contains("hyper_util::client"), "the log is not read");
    let text = said + &log.text();
    for secret in [PASSWORD, wanted.trim_start_matches("Basic "), "token-in-hiding", "signed-in-hiding"] {
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}
