//! Which tokens count.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use ring::hmac;
use serde_json::{Value, json};
use sluice_inspect::InspectError;
use sluice_inspect_rpc::{Access, Authentication, Client, Oidc, OidcSettings};
use sluice_tasks::Tasks;

use super::common::{access, file, start_alone, with};
use super::issuer::{CLIENT, Issuer, Key, message, now};

/// What is answered to who comes with this token: away is what a server says that has nothing behind it.
pub async fn asked(address: SocketAddr, token: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let token_file = Some(file(dir.path(), token));
    let client = Client::connect(&Access { token_file, ..access(address) }).await.unwrap();
    match client.shards(None).await.unwrap_err() {
        InspectError::Away(why) if why == "of a test" => "let in".to_owned(),
        error => error.to_string(),
    }
}

pub async fn server(settings: OidcSettings) -> (SocketAddr, Tasks) {
    start_alone(with(Authentication::Oidc(Arc::new(Oidc::new(settings).unwrap())))).await
}

#[tokio::test]
async fn a_token_of_the_issuer_counts_with_either_kind_of_key() {
    let (one, two) = (Key::es256(), Key::rs256());
    let issuer = Issuer::with(&one);
    issuer.now().keys.push(two.public("two"));
    // What nobody understands is for somebody else.
    issuer.now().keys.push(json!({"kty": "new", "kid": "three"}));
    let (address, _tasks) = server(issuer.settings()).await;
    assert_eq!(asked(address, &one.signed("one", &issuer.claims())).await, "let in");
    assert_eq!(asked(address, &two.signed("two", &issuer.claims())).await, "let in");
    // The keys are asked for once.
    assert_eq!((issuer.asked("/keys"), issuer.asked("/.well-known/openid-configuration")), (1, 1));
}

#[tokio::test]
async fn what_is_wrong_with_a_token_is_said_and_nobody_is_let_in() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (address, _tasks) = server(issuer.settings()).await;
    for (claim, value, why) in [
        ("aud", json!("another"), "for somebody else"),
        ("aud", json!(["another", "third"]), "for somebody else"),
        ("aud", Value::Null, "aud"),
        ("iss", json!("https://evil.example"), "another issuer"),
        ("iss", json!(format!("{}/", issuer.url())), "another issuer"),
        ("iss", Value::Null, "iss"),
        ("exp", json!(now() - 60), "has expired"),
        ("exp", Value::Null, "exp"),
        ("nbf", json!(now() + 600), "does not count yet"),
        ("sub", Value::Null, "sub"),
    ] {
        let mut claims = issuer.claims();
        match &value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(claim)),
            value => claims[claim] = value.clone(),
        }
        let token = key.signed("one", &claims);
        let said = asked(address, &token).await;
        assert!(
            said.starts_with("this token does not count: ") && said.contains(why),
            "{claim} {value}: {said}"
        );
        assert!(!said.contains(&token), "{said}");
    }
    // A token for several is one for us.
    let mut claims = issuer.claims();
    claims["aud"] = json!(["another", CLIENT]);
    assert_eq!(asked(address, &key.signed("one", &claims)).await, "let in");
}

#[tokio::test]
async fn nothing_but_a_signature_of_the_issuers_key_counts() {
    let key = Key::rs256();
    let issuer = Issuer::with(&key);
    let claims = issuer.claims();
    let good = key.signed("one", &claims);
    let (text, signature) = good.rsplit_once('.').unwrap();
    // What is published, taken as a secret that both sides share.
    let public = issuer.now().keys[0].to_string();
    let by_secret = message(&json!({"alg": "HS256", "kid": "one"}), &claims);
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes()), by_secret.as_bytes());
    let tag = base64(tag.as_ref());
    let mut others = claims.clone();
    others["sub"] = json!("somebody else");
    let changed = message(&json!({"alg": "RS256", "kid": "one"}), &others);
    let (address, _tasks) = server(issuer.settings()).await;
    assert_eq!(asked(address, &good).await, "let in");
    for (what, token) in [
        ("none", format!("{}.", message(&json!({"alg": "none", "kid": "one"}), &claims))),
        ("none, signed", format!("{}.{signature}", message(&json!({"alg": "none"}), &claims))),
        ("HS256 with the public key", format!("{by_secret}.{tag}")),
        ("changed", format!("{changed}.{signature}")),
        ("without a signature", format!("{text}.")),
        ("another key", Key::es256().signed_as(&json!({"alg": "ES256", "kid": "one"}), &claims)),
        ("another key of that name", Key::es256().signed_as(&json!({"alg": "RS256", "kid": "one"}), &claims)),
        (
            "a logout token",
            key.signed_as(&json!({"alg": "RS256", "kid": "one", "typ": "logout+jwt"}), &claims),
        ),
        (
            "a rule that nobody knows",
            key.signed_as(&json!({"alg": "RS256", "kid": "one", "crit": ["rule"]}), &claims),
        ),
        ("a key that it brings along", brought(&claims)),
        ("no token", "guess".to_owned()),
    ] {
        let said = asked(address, &token).await;
        assert!(said.starts_with("this token does not count: "), "{what}: {said}");
    }
}

/// A token whose header holds the key that it was signed with.
fn brought(claims: &Value) -> String {
    let own = Key::es256();
    own.signed_as(&json!({"alg": "ES256", "kid": "own", "jwk": own.public("own")}), claims)
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes)
}

#[tokio::test]
async fn keys_are_asked_for_anew_when_one_is_unknown() {
    let (first, second) = (Key::es256(), Key::es256());
    let issuer = Issuer::with(&first);
    let (address, _tasks) = server(OidcSettings { again: Duration::ZERO, ..issuer.settings() }).await;
    let (old, new) = (first.signed("one", &issuer.claims()), second.signed("two", &issuer.claims()));
    assert_eq!(asked(address, &old).await, "let in");
    assert!(asked(address, &new).await.contains("no such key"));
    issuer.now().keys = vec![second.public("two")];
    assert_eq!(asked(address, &new).await, "let in");
    // The issuer has taken the first one back.
    assert!(asked(address, &old).await.contains("no such key"));
}

#[tokio::test]
async fn unknown_keys_are_no_flood_of_questions() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (address, _tasks) =
        server(OidcSettings { again: Duration::from_secs(3_600), ..issuer.settings() }).await;
    for number in 0..20 {
        let said = asked(address, &key.signed(&format!("key-{number}"), &issuer.claims())).await;
        assert!(said.contains("no such key"), "{said}");
    }
    assert_eq!(asked(address, &key.signed("one", &issuer.claims())).await, "let in");
    assert_eq!(issuer.asked("/keys"), 1);
}

#[tokio::test]
async fn only_who_is_in_a_group_may_ask_where_groups_are_named() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let groups = vec!["platform".to_owned(), "on-call".to_owned()];
    let settings = OidcSettings { groups, groups_claim: "roles".to_owned(), ..issuer.settings() };
    let (address, _tasks) = server(settings).await;
    for (roles, is_let_in) in [
        (json!(["guests", "on-call"]), true),
        (json!("platform"), true),
        (json!(["guests"]), false),
        (json!("platform,on-call"), false),
        (json!({"platform": true}), false),
        (json!([]), false),
        (Value::Null, false),
    ] {
        let mut claims = issuer.claims();
        claims["roles"] = roles.clone();
        claims["groups"] = json!(["platform"]);
        let said = asked(address, &key.signed("one", &claims)).await;
        assert_eq!(said == "let in", is_let_in, "{roles}: {said}");
        assert!(is_let_in || said.contains("is in no group that may ask"), "{said}");
    }
}

#[tokio::test]
async fn another_audience_counts_where_it_is_named() {
    let key = Key::es256();
    let issuer = Issuer::with(&key);
    let (address, _tasks) =
        server(OidcSettings { audiences: vec!["programs".to_owned()], ..issuer.settings() }).await;
    for (audience, is_let_in) in [(CLIENT, true), ("programs", true), ("others", false)] {
        let mut claims = issuer.claims();
        claims["aud"] = json!(audience);
        assert_eq!(asked(address, &key.signed("one", &claims)).await == "let in", is_let_in, "{audience}");
    }
}
