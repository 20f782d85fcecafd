//! An issuer on this machine: it signs what a test says, gives a token for each code once, and checks what PKCE promises.

#![allow(dead_code, reason = "each test needs a part of it")]

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sluice_inspect_rpc::OidcSettings;
use sluice_kube::fake_api::{FakeApi, Request};
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

pub const CLIENT: &str = "sluice";
pub const PASSWORD: &str = "s3cret/+ of the client";

/// A key that an issuer signs with.
pub enum Key {
    Es256(Box<EcdsaKeyPair>),
    Rs256(Box<RsaKeyPair>),
}

/// What an issuer answers in place of what it should.
type Instead = Box<dyn Fn(&str) -> Option<(u16, String)> + Send>;

pub struct Issuer {
    api: FakeApi,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub struct State {
    /// Its own address.
    pub url: String,
    /// The keys that it publishes, by name.
    pub keys: Vec<Value>,
    /// What a login gives by its code, and what must be shown for it.
    codes: HashMap<String, Code>,
    pub instead: Option<Instead>,
    /// Whether a client says its password in the form.
    pub by_form: bool,
}

struct Code {
    token: String,
    challenge: String,
    callback: String,
}

impl Key {
    pub fn es256() -> Self {
        let random = SystemRandom::new();
        let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random);
        Self::Es256(Box::new(key.unwrap()))
    }

    /// The library makes none of this kind.
    pub fn rs256() -> Self {
        static MADE: OnceLock<Vec<u8>> = OnceLock::new();
        let made = MADE.get_or_init(|| {
            let options = ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"];
            let made = Command::new("openssl").args(options).output().unwrap();
            PrivatePkcs8KeyDer::from_pem_slice(&made.stdout).unwrap().secret_pkcs8_der().to_vec()
        });
        Self::Rs256(Box::new(RsaKeyPair::from_pkcs8(made).unwrap()))
    }

    pub fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Rs256(_) => "RS256",
        }
    }

    /// As an issuer publishes it.
    pub fn public(&self, name: &str) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::Es256(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "kid": name, "use": "sig", "x": text(x), "y": text(y)})
            }
            Self::Rs256(key) => {
                let PublicKeyComponents::<Vec<u8>> { n, e } = key.public().into();
                json!({"kty": "RSA", "kid": name, "use": "sig", "n": text(&n), "e": text(&e)})
            }
        }
    }

    pub fn signed(&self, name: &str, claims: &Value) -> String {
        self.signed_as(&json!({"alg": self.algorithm(), "typ": "JWT", "kid": name}), claims)
    }

    pub fn signed_as(&self, header: &Value, claims: &Value) -> String {
        let text = message(header, claims);
        let random = SystemRandom::new();
        let signature = match self {
            Self::Es256(key) => key.sign(&random, text.as_bytes()).unwrap().as_ref().to_vec(),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// What is signed.
pub fn message(header: &Value, claims: &Value) -> String {
    [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string())).join(".")
}

impl Issuer {
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let answering = state.clone();
        let api = FakeApi::start(move |request| answering.lock().unwrap().answer(request));
        let kubeconfig: Value = serde_json::from_str(&api.kubeconfig()).unwrap();
        let issuer = Self { api, state };
        issuer.now().url = kubeconfig["clusters"][0]["cluster"]["server"].as_str().unwrap().to_owned();
        issuer
    }

    /// One that publishes this key, as `one`.
    pub fn with(key: &Key) -> Self {
        let issuer = Self::start();
        issuer.now().keys = vec![key.public("one")];
        issuer
    }

    pub fn now(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn url(&self) -> String {
        self.now().url.clone()
    }

    /// How often a path was asked for.
    pub fn asked(&self, path: &str) -> usize {
        self.api.requests().iter().filter(|request| request.path == path).count()
    }

    /// The verifiers that were shown for codes.
    pub fn sent(&self) -> Vec<String> {
        let requests = self.api.requests();
        let shown = requests.iter().filter(|request| request.path == "/token");
        shown.map(|request| form(&request.body)["code_verifier"].clone()).collect()
    }

    /// What a server needs to know of it.
    pub fn settings(&self) -> OidcSettings {
        OidcSettings::new(&self.url(), CLIENT)
    }

    /// Claims of a token that counts.
    pub fn claims(&self) -> Value {
        json!({"iss": self.url(), "aud": CLIENT, "sub": "7", "email": "ann@example.com", "exp": now() + 600, "iat": now()})
    }

    /// A user logs in at this address: where the browser is sent then. `change` is what the issuer does wrong.
    pub fn log_in(&self, place: &str, key: &Key, change: impl FnOnce(&mut Value)) -> String {
        let (at, query) = place.split_once('?').unwrap();
        assert_eq!(at, format!("{}/authorize", self.url()));
        let asked = form(query);
        assert_eq!((&*asked["response_type"], &*asked["client_id"]), ("code", CLIENT));
        assert_eq!(asked["code_challenge_method"], "S256");
        assert!(asked["scope"].split(' ').any(|scope| scope == "openid"));
        let mut claims = self.claims();
        claims["nonce"] = asked["nonce"].clone().into();
        change(&mut claims);
        let name = format!("code-{}", self.now().codes.len());
        let code = Code {
            token: key.signed("one", &claims),
            challenge: asked["code_challenge"].clone(),
            callback: asked["redirect_uri"].clone(),
        };
        self.now().codes.insert(name.clone(), code);
        format!("{}?code={name}&state={}", asked["redirect_uri"], asked["state"])
    }
}

impl State {
    fn answer(&mut self, request: &Request) -> (u16, String) {
        if let Some(said) = self.instead.as_ref().and_then(|instead| instead(&request.path)) {
            return said;
        }
        let url = &self.url;
        match &*request.path {
            "/.well-known/openid-configuration" => {
                let way = if self.by_form { "client_secret_post" } else { "client_secret_basic" };
                let said = json!({"issuer": url, "jwks_uri": format!("{url}/keys"), "authorization_endpoint": format!("{url}/authorize"),
                    "token_endpoint": format!("{url}/token"), "token_endpoint_auth_methods_supported": [way]});
                (200, said.to_string())
            }
            "/keys" => (200, json!({"keys": self.keys}).to_string()),
            "/token" => self.token(request),
            _ => (404, "{}".to_owned()),
        }
    }

    fn token(&mut self, request: &Request) -> (u16, String) {
        let sent = form(&request.body);
        let refused = |why: &str| (400, json!({"error": why}).to_string());
        let client = match request.header("authorization") {
            Some(header) => basic(header),
            None => (sent["client_id"].clone(), sent.get("client_secret").cloned().unwrap_or_default()),
        };
        if client != (CLIENT.to_owned(), PASSWORD.to_owned()) {
            return refused("invalid_client");
        }
        // A code counts once, whatever comes of it.
        let Some(code) = self.codes.remove(&sent["code"]) else { return refused("invalid_grant") };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&sent["code_verifier"]));
        if challenge != code.challenge
            || sent["redirect_uri"] != code.callback
            || sent["grant_type"] != "authorization_code"
        {
            return refused("invalid_grant");
        }
        (
            200,
            json!({"access_token": "of no use", "token_type": "Bearer", "id_token": code.token}).to_string(),
        )
    }
}

fn basic(header: &str) -> (String, String) {
    let both = STANDARD.decode(header.strip_prefix("Basic ").unwrap()).unwrap();
    let both = String::from_utf8(both).unwrap();
    let (name, password) = both.split_once(':').unwrap();
    (decoded(name), decoded(password))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

/// Fields of a form or a query.
pub fn form(text: &str) -> HashMap<String, String> {
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), decoded(value)))
        .collect()
}

pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

pub fn password_file(dir: &Path) -> std::path::PathBuf {
    let file = dir.join("password");
    std::fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    file
}
