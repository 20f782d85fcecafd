//! Which issuer's tokens count: `--oidc-…`.

use std::path::PathBuf;
use std::sync::Arc;

use sluice_inspect_rpc::{Authentication, Oidc, OidcSettings};

/// An issuer of OpenID Connect, for `--authenticate oidc`.
#[derive(Debug, clap::Args)]
pub(super) struct Issuer {
    /// Issuer of the tokens, as it writes itself: https, or http on this machine.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_ISSUER", value_name = "URL")]
    oidc_issuer: Option<String>,
    /// Our name at the issuer. Tokens must be for it.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_CLIENT_ID", value_name = "ID")]
    oidc_client_id: Option<String>,
    /// File with the secret of the client. It is read for every login. A public client has none.
    #[arg(
        long,
        env = "SLUICE_INSPECT_OIDC_CLIENT_SECRET_FILE",
        value_name = "FILE",
        requires = "oidc_page_url"
    )]
    oidc_client_secret_file: Option<PathBuf>,
    /// File with who signs the issuer's certificate. Without it those count that this machine trusts.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_CA", value_name = "FILE")]
    oidc_ca: Option<PathBuf>,
    /// Audiences that count beside the client, for programs with tokens of their own.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_AUDIENCE", value_name = "AUDIENCE", value_delimiter = ',')]
    oidc_audience: Vec<String>,
    /// Groups of which a caller must be in one. Without any everybody of the issuer may ask.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_GROUPS", value_name = "GROUP", value_delimiter = ',')]
    oidc_groups: Vec<String>,
    /// Where a token says the groups of its owner.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_GROUPS_CLAIM", value_name = "CLAIM", default_value = "groups")]
    oidc_groups_claim: String,
    /// What a login of the page asks the issuer for.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_SCOPES", value_name = "SCOPES", default_value = "openid email")]
    oidc_scopes: String,
    /// The page as browsers reach it, as https://inspect.example/ui/: then they log in at the issuer, which must know <URL>callback.
    #[arg(long, env = "SLUICE_INSPECT_OIDC_PAGE_URL", value_name = "URL", requires = "ui")]
    oidc_page_url: Option<String>,
}

// === impl Issuer ===

impl Issuer {
    /// Takes its tokens.
    pub(super) fn authentication(self) -> anyhow::Result<Authentication> {
        let (Some(issuer), Some(client)) = (&self.oidc_issuer, &self.oidc_client_id) else {
            anyhow::bail!(
                "--authenticate oidc: name the issuer with --oidc-issuer URL, and our name there with --oidc-client-id ID"
            );
        };
        let settings = OidcSettings {
            secret_file: self.oidc_client_secret_file,
            ca: self.oidc_ca,
            audiences: named(self.oidc_audience),
            scopes: self.oidc_scopes.split_whitespace().map(str::to_owned).collect(),
            groups: named(self.oidc_groups),
            groups_claim: self.oidc_groups_claim,
            page: self.oidc_page_url,
            ..OidcSettings::new(issuer, client)
        };
        Ok(Authentication::Oidc(Arc::new(Oidc::new(settings).map_err(anyhow::Error::msg)?)))
    }

    /// Nothing that is meant is left out.
    pub(super) fn check_unused(&self) -> anyhow::Result<()> {
        let is_named =
            self.oidc_issuer.is_some() || self.oidc_client_id.is_some() || !self.oidc_groups.is_empty();
        anyhow::ensure!(
            !is_named,
            "--oidc-issuer, --oidc-client-id and --oidc-groups: add --authenticate oidc"
        );
        Ok(())
    }
}

/// Without what a comma too many leaves.
fn named(list: Vec<String>) -> Vec<String> {
    list.into_iter().map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
}
