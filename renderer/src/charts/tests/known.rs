//! What is on disk is told of before anybody is asked.

use std::time::SystemTime;

use super::*;

fn mk_charts(folder: &std::path::Path) -> Charts {
    let settings = ChartSettings { cache: Some(folder.to_owned()), ..ChartSettings::default() };
    Charts::new(settings, Tasks::default())
}

/// What a shard is told next after it has asked a new process.
async fn told_after_a_restart(folder: &std::path::Path, request: &ChartRequest) -> ChartState {
    let charts = mk_charts(folder);
    let (sender, mut told) = mpsc::unbounded_channel();
    let asking = charts.asking(Shard::new(1), sender);
    asking.fetch(request.clone());
    let Some(ExternalInput::Chart(_, state)) = told.recv().await else { panic!("not told of a chart") };
    drop(asking);
    state
}

/// As long ago as a process that runs would not have waited.
fn make_old(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder.join("sluice-charts")).unwrap() {
        let file = std::fs::File::options().append(true).open(entry.unwrap().path()).unwrap();
        file.set_modified(SystemTime::now() - 2 * LOOK_AGAIN).unwrap();
    }
}

#[tokio::test]
async fn a_chart_that_is_on_disk_is_there_before_its_repository_has_answered() {
    let (fake, dir) = (Fake::start().await, tempfile::tempdir().unwrap());
    fake.publish(&["1.2.0"]);
    fake.push("1.2.0");
    for request in [fake.request("1.2.0"), fake.request("1.x"), fake.oci("1.2.0")] {
        assert_eq!(version(told_after_a_restart(dir.path(), &request).await), Ok("1.2.0".into()));
    }
    for path in ["/charts/index.yaml", "/v2/charts/web/manifests/1.2.0"] {
        fake.end(path, Ending::Hangs);
    }
    for request in [fake.request("1.2.0"), fake.request("1.x"), fake.oci("1.2.0")] {
        let state = told_after_a_restart(dir.path(), &request).await;
        assert_eq!((state.trouble.clone(), version(state)), (None, Ok("1.2.0".into())), "{request}");
    }
    make_old(dir.path());
    let state = told_after_a_restart(dir.path(), &fake.request("1.2.0")).await;
    assert_eq!(version(state), Ok("1.2.0".into()), "a version is what it was, however long ago");
}

#[tokio::test]
async fn a_chart_that_is_on_disk_is_there_while_its_repository_is_away() {
    let (fake, dir) = (Fake::start().await, tempfile::tempdir().unwrap());
    fake.publish(&["1.2.0"]);
    let request = fake.request("1.2.0");
    told_after_a_restart(dir.path(), &request).await;
    drop(fake);
    let charts = mk_charts(dir.path());
    let (sender, mut told) = mpsc::unbounded_channel();
    let asking = charts.asking(Shard::new(1), sender);
    asking.fetch(request);
    let mut troubles = Vec::new();
    while let Some(ExternalInput::Chart(_, state)) = told.recv().await {
        troubles.push(state.trouble.is_some());
        assert_eq!(state.chart.unwrap().chart.metadata.version, "1.2.0");
        if troubles.last() == Some(&true) {
            break;
        }
    }
    assert_eq!(troubles, [false, true], "first what is known, then that the repository is away");
}

/// What a range stood for long ago may be older than what is deployed.
#[tokio::test]
async fn what_a_range_was_long_ago_is_asked_for_first() {
    let (fake, dir) = (Fake::start().await, tempfile::tempdir().unwrap());
    fake.publish(&["1.2.0"]);
    told_after_a_restart(dir.path(), &fake.request("1.x")).await;
    fake.publish(&["1.2.0", "1.3.0"]);
    make_old(dir.path());
    let state = told_after_a_restart(dir.path(), &fake.request("1.x")).await;
    assert_eq!(version(state), Ok("1.3.0".into()));
    make_old(dir.path());
    fake.change(|served| served.pages.clear());
    let state = told_after_a_restart(dir.path(), &fake.request("1.x")).await;
    assert_eq!((state.trouble.is_some(), version(state)), (true, Ok("1.3.0".into())));
}

/// A process that runs for days keeps what it has looked for as new as it is.
#[tokio::test]
async fn a_range_that_was_looked_for_again_is_known() {
    let (fake, dir) = (Fake::start().await, tempfile::tempdir().unwrap());
    fake.publish(&["1.2.0"]);
    let settings = ChartSettings { cache: Some(dir.path().to_owned()), ..ChartSettings::default() };
    let fetcher = Fetcher::new(settings);
    let request = fake.request("1.x");
    let (state, _) = fetcher.look(&request, None).await;
    make_old(dir.path());
    assert_eq!(fetcher.known_already(&request).await, None);
    fetcher.look(&request, state.chart.clone()).await;
    assert_eq!(fetcher.known_already(&request).await, state.chart);
}
