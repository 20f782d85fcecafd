//! A connection to a registered cluster whose token can be replaced while it is used.

// D-1011: another kubeconfig is another server, unless only the token of its account is another one.

use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderValue;
use http::header::AUTHORIZATION;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::client::{Trust, client_of_kubeconfig};
use crate::identity::{self, Tokens};
use crate::registered::token::{with_token, without_token};
use crate::token::Claims;

/// A client, and of which kubeconfig it is.
pub struct Connection {
    client: Client,
    trust: Trust,
    renewable: Option<Renewable>,
}

/// What a kubeconfig says whose token can be another one.
struct Renewable {
    /// All but the token.
    rest: Value,
    account: Account,
    bearer: Arc<Mutex<HeaderValue>>,
}

/// A ServiceAccount as no other cluster has it: its namespace and name, and its uid.
type Account = ((String, String), String);

// === impl Connection ===

impl Connection {
    /// Begins with this kubeconfig.
    ///
    /// # Errors
    /// What is wrong with it, as [`client_of_kubeconfig`] says.
    pub async fn open(kubeconfig: &str, trust: Trust) -> Result<Self, String> {
        if trust == Trust::Identity {
            let client = identity::client_of(kubeconfig, Tokens::of_process()).await?;
            return Ok(Self { client, trust, renewable: None });
        }
        let Some((renewable, text)) = Renewable::of(kubeconfig) else {
            let client = client_of_kubeconfig(kubeconfig, trust).await?;
            return Ok(Self { client, trust, renewable: None });
        };
        let client = bearing(&client_of_kubeconfig(&text, trust).await?, renewable.bearer.clone());
        Ok(Self { client, trust, renewable: Some(renewable) })
    }

    /// The client. All of its clones use the newest token.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Whether that kubeconfig differs only by a token of the same account of the same cluster, which is used from now on.
    pub fn renew(&self, kubeconfig: &str, trust: Trust) -> bool {
        let Some(known) = self.renewable.as_ref().filter(|_| self.trust == trust) else { return false };
        let Some((new, _)) = Renewable::of(kubeconfig) else { return false };
        if (&new.rest, &new.account) != (&known.rest, &known.account) {
            return false;
        }
        let token = read(&new.bearer);
        *known.bearer.lock().unwrap_or_else(PoisonError::into_inner) = token;
        true
    }
}

fn read(bearer: &Mutex<HeaderValue>) -> HeaderValue {
    bearer.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A client over the connections of `client` that comes with this token, whatever it is when it asks.
fn bearing(client: &Client, bearer: Arc<Mutex<HeaderValue>>) -> Client {
    let (namespace, client) = (client.default_namespace().to_owned(), client.clone());
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        request.headers_mut().insert(AUTHORIZATION, read(&bearer));
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, namespace)
}

// === impl Renewable ===

impl Renewable {
    /// Of a kubeconfig, with the same kubeconfig without its token; nothing where its token does not say of which account it is, or it
    /// has other credentials besides.
    fn of(kubeconfig: &str) -> Option<(Self, String)> {
        let (rest, token) = without_token(kubeconfig)?;
        let Claims { account: Some(account), uid: Some(uid), .. } = Claims::of(&token)? else { return None };
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.trim())).ok()?;
        bearer.set_sensitive(true);
        let text = with_token(kubeconfig, "").ok()?;
        Some((Self { rest, account: (account, uid), bearer: Arc::new(Mutex::new(bearer)) }, text))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::json;

    use super::*;
    use crate::fake_api::FakeApi;

    const TRUST: Trust = Trust::Registered { proxies: false };

    fn token(uid: &str, expires: u32) -> String {
        let claims = json!({"exp": expires, "sub": "system:serviceaccount:a:b",
            "kubernetes.io": {"serviceaccount": {"uid": uid}}});
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[tokio::test]
    async fn a_newer_token_of_the_account_is_used_by_everybody() {
        let api = FakeApi::start(|_| (200, json!({"major": "1", "minor": "33"}).to_string()));
        let first = with_token(&api.kubeconfig(), &token("u", 1)).unwrap();
        let connection = Connection::open(&first, TRUST).await.unwrap();
        let client = connection.client();
        drop(client.apiserver_version().await);
        let second = with_token(&api.kubeconfig(), &token("u", 2)).unwrap();
        assert!(connection.renew(&second, TRUST));
        drop(client.apiserver_version().await);
        let requests = api.requests();
        let sent: Vec<_> = requests.iter().map(|request| request.header("authorization").unwrap()).collect();
        assert_eq!(sent, [format!("Bearer {}", token("u", 1)), format!("Bearer {}", token("u", 2))]);
    }

    #[tokio::test]
    async fn whatever_else_is_another_may_be_another_server() {
        let api = FakeApi::start(|_| (200, String::new()));
        let of = |token: &str| with_token(&api.kubeconfig(), token).unwrap();
        let first = of(&token("u", 1));
        let connection = Connection::open(&first, TRUST).await.unwrap();
        let elsewhere = first.replace("127.0.0.1", "127.0.0.2");
        let beside = first.replace("\"token\"", "\"username\":\"me\",\"token\"");
        for other in [of(&token("another", 1)), of("opaque"), elsewhere, beside, "]".to_owned()] {
            assert!(!connection.renew(&other, TRUST), "{other}");
        }
        assert!(!connection.renew(&first, Trust::Registered { proxies: true }));
        let opaque = Connection::open(&of("opaque"), TRUST).await.unwrap();
        assert!(!opaque.renew(&of("opaque"), TRUST), "nobody knows whose token it is");
    }
}
