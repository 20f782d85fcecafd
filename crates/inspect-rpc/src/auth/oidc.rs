//! Tokens of an issuer of OpenID Connect: read, and verified with the keys that the issuer publishes.
//!
//! ```text
//! token ─► form, algorithm ─► key of the issuer ─► signature, issuer, audience, times ─► groups ─► caller
//!                               └─ discovery: kept for a while, asked for anew when a key is unknown
//! browser ─► Login: code flow with PKCE ─► the same check, and the nonce
//! ```

use std::future::pending;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jsonwebtoken::Validation;

use self::claims::Claims;
use self::provider::Provider;
use super::turns::Turns;

mod address;
mod claims;
mod login;
mod provider;
mod signatures;
mod web;

pub(crate) use self::address::Address;
pub(crate) use self::login::{Secret, shown};

/// A longer token is none of ours: a browser sends it in cookies, which have room for this.
pub(crate) const LONGEST: usize = 11_000;
/// Pause before an issuer is asked anew for a key that it did not have.
const AGAIN: Duration = Duration::from_secs(10);

/// How long an answer of the issuer may take, from the connection to its last byte.
const PATIENCE: Duration = Duration::from_secs(5);
/// No answer is given for longer.
const FOREVER: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Which issuer counts, and for whom.
#[derive(Clone, Debug)]
pub struct OidcSettings {
    /// The issuer, as it writes itself.
    pub issuer: String,
    /// Our name at the issuer.
    pub client: String,
    /// File with what proves our name; a public client has none. It is read for every login.
    pub secret_file: Option<PathBuf>,
    /// File with who signs the issuer's certificate; without it those count that this machine trusts.
    pub ca: Option<PathBuf>,
    /// Audiences that count beside the client.
    pub audiences: Vec<String>,
    /// What a login asks for.
    pub scopes: Vec<String>,
    /// Groups of which a caller must be in one; without any, everybody of the issuer counts.
    pub groups: Vec<String>,
    /// Where a token says its groups.
    pub groups_claim: String,
    /// The page as browsers see it; without it nobody logs in with a browser.
    pub page: Option<String>,
    /// Pause before the issuer is asked anew.
    pub again: Duration,
    /// How long the issuer may take for an answer.
    pub patience: Duration,
}

/// Knows an issuer.
#[derive(Debug)]
pub struct Oidc {
    settings: OidcSettings,
    page: Option<Address>,
    provider: Provider,
    validation: Validation,
    /// Logins that are completed: each is a question to the issuer.
    turns: Turns,
}

/// Who asks, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// As people call him, if the issuer says so.
    pub(crate) name: String,
    /// In seconds since 1970.
    pub(crate) until: u64,
}

/// Why somebody may not ask.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The token does not count.
    Token(String),
    /// The token counts, and who has it may not ask.
    Caller(String),
    /// The issuer does not say.
    Away(String),
    /// Too much at the same time.
    Busy,
}

// === impl OidcSettings ===

impl OidcSettings {
    /// Everybody whom the issuer knows, with tokens for this client.
    pub fn new(issuer: &str, client: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            client: client.to_owned(),
            secret_file: None,
            ca: None,
            audiences: Vec::new(),
            scopes: vec!["openid".to_owned(), "email".to_owned()],
            groups: Vec::new(),
            groups_claim: "groups".to_owned(),
            page: None,
            again: AGAIN,
            patience: PATIENCE,
        }
    }

    fn check(&self) -> Result<Option<Address>, String> {
        let address = |flag: &str, text: &str| {
            Address::of(text).map_err(|error| format!("{flag} {text}: {error}")).and_then(|address| {
                let is_plain = !text.contains(['?', '#']);
                is_plain.then_some(address).ok_or(format!("{flag} {text}: leave out what follows the path"))
            })
        };
        address("--oidc-issuer", &self.issuer)?;
        if self.client.is_empty() {
            return Err("--oidc-client-id: name the client that the issuer knows".to_owned());
        }
        if !self.scopes.iter().any(|scope| scope == "openid") {
            return Err(
                "--oidc-scopes: openid must be among them; without it no issuer gives an ID token".to_owned()
            );
        }
        let Some(page) = &self.page else { return Ok(None) };
        if !page.ends_with("/ui/") {
            return Err(format!("--oidc-page-url {page}: write the address of the page, which ends in /ui/"));
        }
        address("--oidc-page-url", page).map(Some)
    }
}

// === impl Caller ===

impl Caller {
    /// Waits until his token has expired; for ever, where nothing is known of one.
    pub(crate) async fn expires(caller: Option<&Self>) {
        let Some(caller) = caller else { return pending().await };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // No timer takes all that a token may say.
        let left = Duration::from_secs(caller.until).saturating_sub(now).min(FOREVER);
        tokio::time::sleep(left).await;
    }
}

// === impl Oidc ===

impl Oidc {
    /// Whatever the issuer does: it is asked when somebody comes.
    ///
    /// # Errors
    /// When a setting cannot be meant, with its flag.
    pub fn new(settings: OidcSettings) -> Result<Self, String> {
        let page = settings.check()?;
        signatures::install();
        for file in [&settings.secret_file, &settings.ca].into_iter().flatten() {
            std::fs::metadata(file).map_err(|error| format!("--oidc-… {}: {error}", file.display()))?;
        }
        let audiences = settings.audiences.iter().chain([&settings.client]);
        let validation = claims::validation(&settings.issuer, audiences);
        let provider = Provider::new(&settings);
        Ok(Self { settings, page, provider, validation, turns: Turns::new() })
    }

    /// Whose token this is.
    pub(crate) async fn check(&self, token: &str) -> Result<Caller, Refused> {
        self.caller(&self.claims(token).await?)
    }

    async fn claims(&self, token: &str) -> Result<Claims, Refused> {
        let header = claims::header(token)?;
        let found = self.provider.usable().await.map_err(Refused::Away)?;
        let key = match found.key(&header) {
            Some(key) => key.clone(),
            // The issuer may have new ones.
            None => {
                let newer = self.provider.newer().await.map_err(Refused::Away)?;
                let key = newer.key(&header).cloned();
                key.ok_or_else(|| Refused::Token("its issuer has no such key".to_owned()))?
            }
        };
        claims::read(token, header.alg, &key, &self.validation)
    }

    fn caller(&self, claims: &Claims) -> Result<Caller, Refused> {
        let (groups, claim) = (&self.settings.groups, &self.settings.groups_claim);
        if !groups.is_empty() && !claims.list(claim).any(|group| groups.iter().any(|known| known == group)) {
            return Err(Refused::Caller(format!(
                "{} is in no group that may ask; the claim {claim} of the token must name one of --oidc-groups",
                claims.name()
            )));
        }
        Ok(Caller { name: claims.name().to_owned(), until: claims.until() })
    }

    /// The page as browsers see it, where they may log in.
    pub(crate) fn page(&self) -> Option<&Address> {
        self.page.as_ref()
    }
}
