//! Servers to which a registry or a repository leads, and which want to know more than they may.

use super::*;

/// A registry that wants a token, which is given for the password.
async fn mk_registry() -> (Fake, ChartRequest) {
    let fake = Fake::start().await;
    fake.push("1.2.0");
    fake.serve("/token", r#"{"token": "given"}"#);
    let realm = format!("Bearer realm=\"{}/token\",service=\"r\"", fake.url());
    fake.change(|served| (served.wanted, served.challenge) = (Some("Bearer given".into()), Some(realm)));
    let access = Access { login: Some(login()), plain_http: true, ..Access::default() };
    let request = ChartRequest { access, ..fake.oci("1.2.0") };
    (fake, request)
}

/// One that asks everybody for a password, in these words.
async fn mk_stranger(challenge: impl FnOnce(&Fake) -> String) -> Fake {
    let fake = Fake::start().await;
    fake.serve("/token", r#"{"token": "got"}"#);
    let challenge = challenge(&fake);
    fake.change(|served| (served.wanted, served.challenge) = (Some("never".into()), Some(challenge)));
    fake
}

fn redirect(from: &Fake, path: &str, to: &Fake) {
    let headers = vec![("location", format!("{}{path}", to.url()))];
    let moved = Page { status: 307, headers, ..Page::default() };
    from.change(|served| drop(served.pages.insert(path.into(), moved)));
}

fn is_told_nothing(stranger: &Fake) {
    let asked = stranger.asked();
    assert!(!asked.is_empty(), "the stranger was not even asked");
    assert!(asked.iter().all(|path| !path.contains("password") && !path.contains("token")), "{asked:?}");
}

#[tokio::test]
async fn a_server_to_which_a_registry_redirects_gets_no_password_whatever_it_asks_for() {
    let bearer = |fake: &Fake| format!("Bearer realm=\"{}/token\",service=\"r\"", fake.url());
    let basic = |_: &Fake| "Basic realm=\"r\"".to_owned();
    for stranger in [mk_stranger(bearer).await, mk_stranger(basic).await] {
        let (registry, request) = mk_registry().await;
        let blob = format!("/v2/charts/web/blobs/{}", sveltos_hash(&archive("1.2.0")));
        for path in [blob.as_str(), "/v2/charts/web/manifests/1.2.0"] {
            redirect(&registry, path, &stranger);
            assert!(look(&request).await.unwrap_err().contains("401 Unauthorized"));
            is_told_nothing(&stranger);
        }
    }
}

#[tokio::test]
async fn a_token_goes_to_no_page_of_another_server() {
    let (registry, mut request) = mk_registry().await;
    request.version = "^1".into();
    let stranger = mk_stranger(|_| "Basic realm=\"r\"".to_owned()).await;
    let next = format!("<{}/v2/charts/web/tags/more>; rel=\"next\"", stranger.url());
    registry.serve("/v2/charts/web/tags/list", r#"{"tags": ["1.2.0"]}"#);
    registry.head("/v2/charts/web/tags/list", "link", &next);
    let error = look(&request).await.unwrap_err();
    assert!(error.contains(&format!("goes on at another server, {}", stranger.url())), "{error}");
    assert_eq!(stranger.asked(), Vec::<String>::new());
}

/// Such as one that keeps the files of registries all over the world: it needs no password.
#[tokio::test]
async fn a_registry_may_leave_its_files_and_its_tags_to_another_server() {
    let (registry, mut request) = mk_registry().await;
    let stranger = Fake::start().await;
    stranger.push("1.2.0");
    stranger.serve("/v2/charts/web/tags/list", r#"{"tags": ["1.2.0"]}"#);
    let blob = format!("/v2/charts/web/blobs/{}", sveltos_hash(&archive("1.2.0")));
    for path in [blob.as_str(), "/v2/charts/web/manifests/1.2.0", "/v2/charts/web/tags/list"] {
        redirect(&registry, path, &stranger);
    }
    for version in ["1.2.0", "1.x"] {
        request.version = version.into();
        assert_eq!(look(&request).await, Ok("1.2.0".into()));
        is_told_nothing(&stranger);
    }
    // Pages that it says come next are its own, not the registry's.
    stranger.head("/v2/charts/web/tags/list", "link", "</v2/charts/web/tags/more>; rel=\"next\"");
    let error = look(&request).await.unwrap_err();
    assert!(error.contains("goes on at another server"), "{error}");
}

#[tokio::test]
async fn a_password_does_not_come_back_from_a_stranger_with_a_redirection() {
    let (fake, stranger) = (Fake::start().await, Fake::start().await);
    fake.publish(&["1.2.0"]);
    let mut request = fake.request("");
    request.access.login = Some(login());
    redirect(&fake, "/charts/index.yaml", &stranger);
    let back = vec![("location", format!("{}/charts/taken", fake.url()))];
    let moved = Page { status: 302, headers: back, ..Page::default() };
    stranger.change(|served| drop(served.pages.insert("/charts/index.yaml".into(), moved)));
    assert!(look(&request).await.is_err());
    is_told_nothing(&stranger);
    assert_eq!(fake.asked(), ["/charts/index.yaml with a password", "/charts/taken"]);
}
