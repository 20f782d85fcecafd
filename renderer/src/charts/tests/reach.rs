//! Servers of the own network, which here is this machine: tenants reach through the renderer only those that are allowed.

use super::*;

/// A fetcher that may ask these servers for tenants.
fn mk_fetcher(allowed: &[&str]) -> Fetcher {
    let hosts = OwnHosts::named(CHART_HOSTS, allowed.iter().map(|host| (*host).to_owned()));
    Fetcher::new(ChartSettings { hosts, ..ChartSettings::default() })
}

/// The same for a tenant.
fn tenants(mut request: ChartRequest) -> ChartRequest {
    request.access.of_tenant = true;
    request
}

/// It by its name.
fn named(fake: &Fake) -> String {
    fake.url().replace("127.0.0.1", "localhost")
}

async fn is_refused(fetcher: &Fetcher, request: &ChartRequest) {
    let (state, pause) = fetcher.look(request, None).await;
    let trouble = version(state).unwrap_err();
    assert!(trouble.contains("--chart-hosts") && !trouble.contains("tried again"), "{request}: {trouble}");
    assert_eq!(pause, Duration::from_secs(30), "others who ask the same server need not wait");
}

#[tokio::test]
async fn a_tenant_reaches_nothing_of_the_own_network() {
    let fake = Fake::start().await;
    fake.publish(&["1.2.0"]);
    fake.push("1.2.0");
    for request in [fake.request("1.2.0"), fake.oci("1.2.0")] {
        for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "[::ffff:127.0.0.1]"] {
            let repository = request.repository.replace("127.0.0.1", host);
            is_refused(&mk_fetcher(&[]), &tenants(ChartRequest { repository, ..request.clone() })).await;
        }
        assert_eq!(fake.asked(), Vec::<String>::new());
        let (state, _) = mk_fetcher(&[]).look(&request, None).await;
        assert_eq!(version(state), Ok("1.2.0".into()), "others do");
        for allowed in ["127.0.0.1", fake.address.as_str()] {
            let (state, _) = mk_fetcher(&[allowed]).look(&tenants(request.clone()), None).await;
            assert_eq!(version(state), Ok("1.2.0".into()));
        }
        fake.asked();
    }
}

#[tokio::test]
async fn nobody_leads_a_tenant_into_the_own_network() {
    let (fake, inner) = (Fake::start().await, Fake::start().await);
    fake.publish(&["1.2.0"]);
    inner.publish(&["1.2.0"]);
    for to in [inner.url(), named(&inner)] {
        let location = vec![("location", format!("{to}/charts/index.yaml"))];
        let moved = Page { status: 302, headers: location, ..Page::default() };
        fake.change(|served| drop(served.pages.insert("/charts/index.yaml".into(), moved)));
        is_refused(&mk_fetcher(&[&fake.address]), &tenants(fake.request(""))).await;
        let index = format!("entries: {{web: [{{version: 1.2.0, urls: ['{to}/charts/web-1.2.0.tgz']}}]}}");
        fake.serve("/charts/index.yaml", index);
        is_refused(&mk_fetcher(&[&fake.address]), &tenants(fake.request(""))).await;
        let realm = format!("Bearer realm=\"{to}/token\",service=\"r\"");
        fake.change(|served| (served.wanted, served.challenge) = (Some("Bearer x".into()), Some(realm)));
        is_refused(&mk_fetcher(&[&fake.address]), &tenants(fake.oci("1.2.0"))).await;
        fake.change(|served| (served.wanted, served.challenge) = (None, None));
    }
    assert_eq!(inner.asked(), Vec::<String>::new());
}

/// What others have fetched from there is not for tenants, who may not ask there.
#[tokio::test]
async fn a_tenant_gets_nothing_of_the_own_network_from_disk() {
    let (fake, dir) = (Fake::start().await, tempfile::tempdir().unwrap());
    fake.publish(&["1.2.0"]);
    let settings = ChartSettings { cache: Some(dir.path().to_owned()), ..ChartSettings::default() };
    let fetcher = Fetcher::new(settings);
    assert_eq!(version(fetcher.look(&fake.request("1.2.0"), None).await.0), Ok("1.2.0".into()));
    let request = tenants(fake.request("1.2.0"));
    assert_eq!(fetcher.known_already(&request).await, None);
    is_refused(&fetcher, &request).await;
}
