//! Tokens of the three clouds, from servers that answer as theirs do.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use super::environment::Environment;
use super::*;
use crate::fake_api::{FakeApi, Request};

fn now() -> Timestamp {
    "2026-11-30T06:00:00Z".parse().unwrap()
}

fn tokens<const N: usize>(variables: [(&str, String); N]) -> Tokens {
    Tokens::of(Environment::of(variables), now)
}

async fn bearer(tokens: &Tokens, cloud: &Cloud) -> Result<String, String> {
    let header = tokens.of_cloud(cloud).await.map_err(|error| error.to_string())?;
    Ok(header.to_str().unwrap().strip_prefix("Bearer ").unwrap().to_owned())
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

fn path(file: &tempfile::NamedTempFile) -> String {
    file.path().display().to_string()
}

fn eks(cluster: &str, role: &str) -> Cloud {
    Cloud::Aws { cluster: cluster.into(), region: "eu-west-1".into(), role: role.into() }
}

/// The service for identities: it lends keys for an hour.
fn sts() -> FakeApi {
    FakeApi::start(|request| {
        let id = if request.body.contains("AssumeRoleWithWebIdentity") { "OWN" } else { "OF-ROLE" };
        let answer = format!(
            "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>s</SecretAccessKey>\
             <SessionToken>t/+=</SessionToken><Expiration>2026-11-30T07:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
        );
        (200, answer)
    })
}

fn irsa(sts: &FakeApi, token: &tempfile::NamedTempFile) -> [(&'static str, String); 3] {
    [
        ("AWS_ROLE_ARN", "arn:own".to_owned()),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", path(token)),
        ("AWS_ENDPOINT_URL_STS", sts.url()),
    ]
}

#[tokio::test]
async fn a_cluster_of_eks_gets_a_signed_question_with_its_name() {
    let (sts, own) = (sts(), file("of-the-pod\n"));
    let tokens = tokens(irsa(&sts, &own));
    let token = bearer(&tokens, &eks("shop", "")).await.unwrap();
    let url = URL_SAFE_NO_PAD.decode(token.strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
    let url = String::from_utf8(url).unwrap();
    assert!(
        url.starts_with(&format!("{}/?Action=GetCallerIdentity&Version=2011-06-15&", sts.url())),
        "{url}"
    );
    for part in [
        "Credential=OWN%2F20261130%2Feu-west-1%2Fsts%2F",
        "SignedHeaders=host%3Bx-k8s-aws-id",
        "Security-Token=t%2F%2B%3D&",
    ] {
        assert!(url.contains(part), "{url}");
    }
    let asked = sts.requests();
    assert_eq!((asked.len(), asked[0].method.as_str(), asked[0].path.as_str()), (1, "POST", "/"));
    let expected = "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aown&RoleSessionName=sluice&Version=2011-06-15&WebIdentityToken=of-the-pod";
    assert_eq!(asked[0].body, expected);
}

#[tokio::test]
async fn a_role_is_assumed_once_for_all_clusters_that_name_it() {
    let (sts, own) = (sts(), file("of-the-pod"));
    let tokens = tokens(irsa(&sts, &own));
    for cluster in ["shop", "bank", "shop"] {
        let token = bearer(&tokens, &eks(cluster, "arn:other")).await.unwrap();
        let url = URL_SAFE_NO_PAD.decode(token.strip_prefix("k8s-aws-v1.").unwrap()).unwrap();
        assert!(String::from_utf8(url).unwrap().contains("Credential=OF-ROLE%2F"));
    }
    let asked = sts.requests();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(
        asked[1].path.starts_with("/?Action=AssumeRole&DurationSeconds=3600&RoleArn=arn%3Aother&"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn pod_identity_gives_keys_to_who_has_the_token_of_the_pod() {
    let agent = FakeApi::start(|_| {
        let keys = json!({"AccessKeyId": "POD", "SecretAccessKey": "s", "Token": "t", "Expiration": "2026-11-30T12:00:00Z"});
        (200, keys.to_string())
    });
    let own = file("of-the-pod");
    let tokens = tokens([
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", format!("{}/v1/credentials", agent.url())),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path(&own)),
    ]);
    assert!(bearer(&tokens, &eks("shop", "")).await.is_ok());
    assert_eq!(agent.requests()[0].path, "/v1/credentials");
    assert_eq!(agent.requests()[0].header("authorization"), Some("of-the-pod"));
}

#[tokio::test]
async fn a_cluster_of_gke_gets_the_token_of_the_metadata_server() {
    let metadata = FakeApi::start(|request| {
        assert_eq!(request.header("metadata-flavor"), Some("Google"));
        (200, json!({"access_token": "ya29", "expires_in": 3600, "token_type": "Bearer"}).to_string())
    });
    let host = metadata.url().replace("http://", "");
    let tokens = tokens([("GCE_METADATA_HOST", host)]);
    assert_eq!(bearer(&tokens, &Cloud::Gcp).await.unwrap(), "ya29");
    assert_eq!(bearer(&tokens, &Cloud::Gcp).await.unwrap(), "ya29");
    let expected = "/computeMetadata/v1/instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform";
    let asked: Vec<_> = metadata.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(asked, [expected], "it is asked once");
}

#[tokio::test]
async fn outside_of_google_the_token_of_the_pod_is_exchanged() {
    let google = FakeApi::start(|request| match request.path.as_str() {
        "/v1/token" => (200, json!({"access_token": "federated", "expires_in": 3600}).to_string()),
        _ => {
            assert_eq!(request.header("authorization"), Some("Bearer federated"));
            (200, json!({"accessToken": "of-account", "expireTime": "2026-11-30T07:00:00Z"}).to_string())
        }
    });
    let own = file(&json!({"id_token": "of-the-pod"}).to_string());
    let format = json!({"type": "json", "subject_token_field_name": "id_token"});
    let mut credentials = json!({"type": "external_account", "audience": "//iam/pool", "token_url": format!("{}/v1/token", google.url()),
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {"file": path(&own), "format": format}});
    let of = |credentials: &Value| {
        let credentials = file(&credentials.to_string());
        (tokens([("GOOGLE_APPLICATION_CREDENTIALS", path(&credentials))]), credentials)
    };
    let (direct, _file) = of(&credentials);
    assert_eq!(bearer(&direct, &Cloud::Gcp).await.unwrap(), "federated");
    assert!(google.requests()[0].body.contains("audience=%2F%2Fiam%2Fpool&grant_type=urn%3Aietf"));
    assert!(google.requests()[0].body.contains("subject_token=of-the-pod&"));
    credentials["service_account_impersonation_url"] = format!("{}/impersonate", google.url()).into();
    let (impersonating, _file) = of(&credentials);
    assert_eq!(bearer(&impersonating, &Cloud::Gcp).await.unwrap(), "of-account");
}

#[tokio::test]
async fn a_cluster_of_aks_gets_a_token_of_the_identity_that_trusts_the_pod() {
    let azure = FakeApi::start(|_| (200, json!({"access_token": "aad", "expires_in": 3599}).to_string()));
    let own = file("of-the-pod");
    let tokens = tokens([
        ("AZURE_FEDERATED_TOKEN_FILE", path(&own)),
        ("AZURE_AUTHORITY_HOST", format!("{}/", azure.url())),
    ]);
    let cloud = Cloud::Azure { tenant: "t/../x".into(), client: "id".into() };
    assert_eq!(bearer(&tokens, &cloud).await.unwrap(), "aad");
    let asked = &azure.requests()[0];
    assert_eq!(asked.path, "/t%2F..%2Fx/oauth2/v2.0/token");
    let expected = "client_id=id&scope=6dae42f8-4368-4678-94ff-3960e28e3630%2F.default&\
                    client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&\
                    client_assertion=of-the-pod&grant_type=client_credentials";
    assert_eq!(asked.body, expected);
}

#[tokio::test]
async fn what_is_missing_is_named_and_nothing_of_a_token() {
    let none = tokens([]);
    let error = bearer(&none, &eks("shop", "")).await.unwrap_err();
    assert!(error.starts_with("no token of AWS: this process has no identity of AWS: annotate"), "{error}");
    let cloud = Cloud::Azure { tenant: "t".into(), client: "i".into() };
    let error = bearer(&none, &cloud).await.unwrap_err();
    assert!(error.starts_with("no token of Azure: this process has no identity of Azure: label"), "{error}");
    let region = Cloud::Aws { cluster: "c".into(), region: "evil.example/".into(), role: String::new() };
    let error = bearer(&none, &region).await.unwrap_err();
    assert!(error.contains("\"evil.example/\" is no region"), "{error}");

    let refusing = FakeApi::start(|_| {
        let said =
            json!({"error": "invalid_client", "error_description": "AADSTS7000215: \u{7}no such client"});
        (401, said.to_string())
    });
    let own = file("secret-of-the-pod");
    let tokens =
        tokens([("AZURE_FEDERATED_TOKEN_FILE", path(&own)), ("AZURE_AUTHORITY_HOST", refusing.url())]);
    let error = bearer(&tokens, &cloud).await.unwrap_err();
    assert!(error.ends_with("it answers 401: AADSTS7000215:  no such client"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    assert!(bearer(&tokens, &cloud).await.is_err());
    assert_eq!(refusing.requests().len(), 1, "it is not asked again at once");
}

/// Minutes since the beginning.
static CLOCK: AtomicUsize = AtomicUsize::new(0);

fn clock() -> Timestamp {
    let minutes = i64::try_from(CLOCK.load(Ordering::Relaxed)).unwrap();
    Timestamp::from_second(minutes * 60).unwrap()
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends_and_used_until_then_where_that_fails() {
    let answer = |request: &Request| match request.number {
        0 | 2 => {
            (200, json!({"access_token": format!("t{}", request.number), "expires_in": 3600}).to_string())
        }
        _ => (400, String::new()),
    };
    let metadata = FakeApi::start(answer);
    let host = metadata.url().replace("http://", "");
    let tokens = Tokens::of(Environment::of([("GCE_METADATA_HOST", host)]), clock);
    let mut had = Vec::new();
    for minute in [0, 54, 56, 58, 114, 130] {
        CLOCK.store(minute, Ordering::Relaxed);
        had.push(bearer(&tokens, &Cloud::Gcp).await.ok());
    }
    let expected = ["t0", "t0", "t0", "t2", "t2"].map(|token| Some(token.to_owned()));
    assert_eq!(had, [&expected[..], &[None]].concat());
}

#[tokio::test]
async fn each_request_comes_with_a_token_and_one_that_is_refused_is_asked_for_anew_later() {
    let metadata = FakeApi::start(|request| {
        (200, json!({"access_token": format!("t{}", request.number), "expires_in": 3600}).to_string())
    });
    let api = FakeApi::start(|_| {
        (401, json!({"kind": "Status", "code": 401, "message": "Unauthorized"}).to_string())
    });
    let host = metadata.url().replace("http://", "");
    let tokens = Arc::new(Tokens::of(Environment::of([("GCE_METADATA_HOST", host)]), now));
    let identity = WorkloadIdentity { endpoint: api.url(), authority: None, cloud: Cloud::Gcp };
    let client = client_of(&identity_kubeconfig(&identity, None), tokens).await.unwrap();
    assert!(client.apiserver_version().await.is_err());
    assert!(client.apiserver_version().await.is_err());
    let sent: Vec<_> =
        api.requests().iter().map(|request| request.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent, ["Bearer t0", "Bearer t0"], "a young one would not be another one");
}

#[tokio::test]
async fn where_no_token_can_be_had_nothing_is_sent() {
    let api = FakeApi::start(|_| (200, String::new()));
    let cloud = Cloud::Azure { tenant: "t".into(), client: "i".into() };
    let identity = WorkloadIdentity { endpoint: api.url(), authority: None, cloud };
    let client = client_of(&identity_kubeconfig(&identity, None), Arc::new(tokens([]))).await.unwrap();
    let error = client.apiserver_version().await.unwrap_err();
    assert!(is_no_token(&error), "{error:?}");
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_kubeconfig_that_somebody_wrote_uses_no_identity() {
    let identity = WorkloadIdentity { endpoint: "https://c".into(), authority: None, cloud: Cloud::Gcp };
    let text = identity_kubeconfig(&identity, None);
    let registered = Trust::Registered { proxies: true };
    assert!(client_of_kubeconfig(&text, registered).await.map(drop).unwrap_err().contains("auth-provider"));
    let bad = identity_kubeconfig(&identity, Some("%"));
    let error = client_of(&bad, Arc::new(tokens([]))).await.map(drop).unwrap_err();
    assert!(error.contains("whether ca.crt of caSecretRef is a certificate"), "{error}");
}
