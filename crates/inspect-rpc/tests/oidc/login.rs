//! The login of a browser, from the page to the issuer and back.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use sluice_inspect_rpc::{Authentication, Oidc, OidcSettings, Settings};
use sluice_tasks::Tasks;

use super::common::browser::{Said, get, send};
use super::common::{start_alone, with};
use super::issuer::{Issuer, Key, form, now, password_file};
use super::tokens::asked;

/// The page as its browsers see it: something before the server encrypts, and knows under which name it is reached.
const PAGE: &str = "https://inspect.example/ui/";

async fn server(issuer: &Issuer, dir: &Path) -> (SocketAddr, Tasks) {
    let secret_file = Some(password_file(dir));
    let settings = OidcSettings { secret_file, page: Some(PAGE.to_owned()), ..issuer.settings() };
    let authentication = Authentication::Oidc(Arc::new(Oidc::new(settings).unwrap()));
    start_alone(Settings { page: true, ..with(authentication) }).await
}

/// What a browser keeps of an answer, as it sends it; what is over is left out.
fn kept(said: &Said) -> String {
    let set = said.all("set-cookie");
    let stay = set
        .iter()
        .filter(|cookie| !cookie.contains("Max-Age=0"))
        .filter_map(|cookie| cookie.split(';').next());
    format!("cookie: {}\r\n", stay.collect::<Vec<_>>().join("; "))
}

/// Goes to the login: where the issuer is, and what the browser keeps.
async fn begun(to: SocketAddr) -> (String, String) {
    let said = get(to, "/ui/login", "").await;
    assert_eq!(said.code, 303, "{}", said.body);
    (said.all("location")[0].clone(), kept(&said))
}

/// Where a browser comes back, as a path of this server.
fn path(callback: &str) -> &str {
    callback.strip_prefix("https://inspect.example").unwrap()
}

#[tokio::test]
async fn who_logs_in_at_the_issuer_is_answered_until_he_logs_out() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (to, _tasks) = server(&issuer, dir.path()).await;
    let refused = get(to, "/ui/api/session", "").await;
    assert_eq!((refused.code, &refused.json()["login"]), (401, &json!(true)));
    let (place, login) = begun(to).await;
    assert!(login.starts_with("cookie: __Host-sluice-login="), "{login}");
    let callback = issuer.log_in(&place, &key, |_| ());
    let said = get(to, path(&callback), &login).await;
    assert_eq!((said.code, &*said.all("location")[0]), (303, "./"), "{}", said.body);
    let token = said
        .all("set-cookie")
        .into_iter()
        .find(|cookie| cookie.starts_with("__Secure-sluice-token-0="))
        .unwrap();
    for part in ["; Path=/ui/api/", "; HttpOnly", "; SameSite=Strict", "; Secure"] {
        assert!(token.contains(part), "{token}");
    }
    // The login is over.
    assert!(
        said.all("set-cookie")
            .iter()
            .any(|cookie| cookie.starts_with("__Host-sluice-login=;") && cookie.contains("Max-Age=0"))
    );
    let session = kept(&said);
    let whose = get(to, "/ui/api/session", &session).await;
    assert_eq!((whose.code, &whose.json()["name"]), (200, &json!("ann@example.com")), "{}", whose.body);
    assert!(whose.json()["until"].as_u64().unwrap() > now());
    // There is nothing behind it: it says so.
    assert_eq!(get(to, "/ui/api/clusters", &session).await.code, 503);
    let out = send(to, "POST", "/ui/logout", &format!("{session}sec-fetch-site: same-origin\r\n")).await;
    assert_eq!((out.code, &*kept(&out)), (204, "cookie: \r\n"));
    assert!(out.all("set-cookie").iter().all(|cookie| cookie.contains("Max-Age=0")));
}

#[tokio::test]
async fn a_client_says_its_password_as_the_issuer_wants_it() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::rs256();
    let issuer = Issuer::with(&key);
    issuer.now().by_form = true;
    let (to, _tasks) = server(&issuer, dir.path()).await;
    let (place, login) = begun(to).await;
    let callback = issuer.log_in(&place, &key, |_| ());
    assert_eq!(get(to, path(&callback), &login).await.code, 303);
    // It is read for every login.
    std::fs::write(dir.path().join("password"), "another\n").unwrap();
    let callback = issuer.log_in(&place, &key, |_| ());
    let said = get(to, path(&callback), &login).await;
    assert_eq!(said.code, 401, "{}", said.body);
    assert!(said.body.contains("invalid_client") && !said.body.contains("another"), "{}", said.body);
}

#[tokio::test]
async fn a_login_is_completed_by_the_browser_that_began_it_and_once() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (to, _tasks) = server(&issuer, dir.path()).await;
    // Another replica completes what this one has begun: nothing is kept between the two.
    let (other, _tasks) = server(&issuer, dir.path()).await;
    let (place, login) = begun(to).await;
    let (_, of_another) = begun(to).await;
    let callback = issuer.log_in(&place, &key, |_| ());
    let state = form(callback.split_once('?').unwrap().1)["state"].clone();
    for (what, address, cookies, code) in [
        ("no cookie", path(&callback).to_owned(), "", 400),
        ("the cookie of another browser", path(&callback).to_owned(), of_another.as_str(), 400),
        ("no state", "/ui/callback?code=code-0".to_owned(), login.as_str(), 400),
        ("another state", "/ui/callback?code=code-0&state=another".to_owned(), login.as_str(), 400),
        ("no code", format!("/ui/callback?state={state}"), login.as_str(), 400),
        ("a guessed code", format!("/ui/callback?code=guess&state={state}"), login.as_str(), 401),
    ] {
        let said = get(other, &address, cookies).await;
        assert_eq!(said.code, code, "{what}: {}", said.body);
        assert!(
            kept(&said) == "cookie: \r\n" && said.body.contains("not logged in"),
            "{what}: {}",
            said.headers
        );
    }
    assert_eq!(get(other, path(&callback), &login).await.code, 303);
    let replayed = get(other, path(&callback), &login).await;
    assert_eq!(replayed.code, 401, "{}", replayed.body);
    assert!(replayed.body.contains("invalid_grant"), "{}", replayed.body);
}

/// Whoever has seen a code, but not the cookie, has no verifier: the issuer gives him nothing.
#[tokio::test]
async fn a_code_that_was_stolen_is_of_no_use_to_another_login() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (to, _tasks) = server(&issuer, dir.path()).await;
    let (of_victim, _) = begun(to).await;
    let stolen = form(issuer.log_in(&of_victim, &key, |_| ()).split_once('?').unwrap().1)["code"].clone();
    let (of_thief, cookies) = begun(to).await;
    let state = form(of_thief.split_once('?').unwrap().1)["state"].clone();
    let said = get(to, &format!("/ui/callback?code={stolen}&state={state}"), &cookies).await;
    assert_eq!((said.code, &*kept(&said)), (401, "cookie: \r\n"), "{}", said.body);
    assert!(said.body.contains("invalid_grant"), "{}", said.body);
}

#[tokio::test]
async fn a_token_that_does_not_count_logs_nobody_in() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (to, _tasks) = server(&issuer, dir.path()).await;
    for (claim, value, why) in [
        ("nonce", json!("of another login"), "(nonce)"),
        ("nonce", json!(null), "(nonce)"),
        ("azp", json!("another client"), "(azp)"),
        ("aud", json!("another"), "for somebody else"),
        ("iss", json!("https://evil.example"), "another issuer"),
        ("exp", json!(now() - 60), "has expired"),
        ("more", json!("m".repeat(12_000)), "too long"),
    ] {
        let (place, login) = begun(to).await;
        let callback = issuer.log_in(&place, &key, |claims| claims[claim] = value.clone());
        let said = get(to, path(&callback), &login).await;
        assert_eq!((said.code, &*kept(&said)), (401, "cookie: \r\n"), "{claim}: {}", said.body);
        assert!(said.body.contains(why), "{claim}: {}", said.body);
    }
    // One of more than a cookie holds counts.
    let (place, login) = begun(to).await;
    let callback = issuer.log_in(&place, &key, |claims| claims["more"] = json!("m".repeat(6_000)));
    let session = kept(&get(to, path(&callback), &login).await);
    assert!(session.contains("token-2="), "{session}");
    assert_eq!(get(to, "/ui/api/session", &session).await.code, 200);
}

#[tokio::test]
async fn what_the_issuer_refuses_is_told_without_words_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let issuer = Issuer::with(&Key::es256());
    let (to, _tasks) = server(&issuer, dir.path()).await;
    let (place, login) = begun(to).await;
    let state = form(place.split_once('?').unwrap().1)["state"].clone();
    let said = get(
        to,
        &format!("/ui/callback?error=access_denied&error_description=Call+555&state={state}"),
        &login,
    )
    .await;
    assert!(
        said.code == 400 && said.body.contains("access_denied") && !said.body.contains("555"),
        "{}",
        said.body
    );
    let said = get(to, &format!("/ui/callback?error=%3Cscript%3E&state={state}"), &login).await;
    assert!(said.code == 400 && !said.body.contains("script"), "{}", said.body);
}

#[tokio::test]
async fn the_token_of_a_browser_counts_for_answers_of_the_page_alone() {
    let dir = tempfile::tempdir().unwrap();
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (to, _tasks) = server(&issuer, dir.path()).await;
    let token = key.signed("one", &issuer.claims());
    let cookie = format!("cookie: __Secure-sluice-token-0={token}\r\n");
    assert_eq!(get(to, "/ui/api/session", &cookie).await.code, 200);
    let elsewhere = get(to, "/sluice.inspect.v1.Inspect/ListShards", &cookie).await;
    assert!(elsewhere.headers.contains("grpc-status: 16"), "{}", elsewhere.headers);
    // What is shown in a header counts before it, and programs show it there.
    let both = format!("{cookie}authorization: Bearer wrong\r\n");
    assert_eq!(get(to, "/ui/api/session", &both).await.code, 401);
    assert_eq!(asked(to, &token).await, "let in");
    // Another page logs nobody out, and no address leads anywhere else.
    for site in ["cross-site", "same-site", "none"] {
        let said = send(to, "POST", "/ui/logout", &format!("{cookie}sec-fetch-site: {site}\r\n")).await;
        assert_eq!((said.code, said.all("set-cookie").len()), (403, 0), "{site}");
    }
    assert_eq!(get(to, "/ui/logout", &cookie).await.code, 405);
    let (place, _) = begun(to).await;
    let said = get(
        to,
        "/ui/login?next=https://evil.example&redirect_uri=https://evil.example",
        "host: evil.example\r\n",
    )
    .await;
    let led = said.all("location")[0].clone();
    assert!(led.starts_with(&format!("{}/authorize?", issuer.url())) && !led.contains("evil"), "{led}");
    assert_eq!(form(&place)["redirect_uri"], form(&led)["redirect_uri"]);
}

#[tokio::test]
async fn where_no_issuer_logs_browsers_in_there_is_no_login() {
    let issuer = Issuer::with(&Key::es256());
    let oidc = Authentication::Oidc(Arc::new(Oidc::new(issuer.settings()).unwrap()));
    let (to, _tasks) = start_alone(Settings { page: true, ..with(oidc) }).await;
    let refused = get(to, "/ui/api/session", "cookie: sluice-token-0=a.b.c\r\n").await;
    assert_eq!((refused.code, &refused.json()["login"]), (401, &json!(false)));
    let said = get(to, "/ui/login", "").await;
    assert!(said.code != 303 && said.all("location").is_empty(), "{}", said.headers);
}
