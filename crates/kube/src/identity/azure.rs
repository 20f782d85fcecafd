//! Tokens for clusters of AKS: the token of the pod is exchanged for one of an identity that trusts it (Azure Workload Identity).

use jiff::Timestamp;

use super::ask::Question;
use super::environment::Environment;
use super::tokens::Token;

/// What a token is asked for: API servers of AKS, all of which have this one application.
const SCOPE: &str = "6dae42f8-4368-4678-94ff-3960e28e3630/.default";
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A token of this identity of a tenant.
pub(super) async fn token(
    tenant: &str,
    client: &str,
    environment: &Environment,
    now: Timestamp,
) -> Result<Token, String> {
    let file = environment.get("AZURE_FEDERATED_TOKEN_FILE").ok_or(
        "this process has no identity of Azure: label its pods azure.workload.identity/use: \"true\", and annotate its \
         ServiceAccount with azure.workload.identity/client-id",
    )?;
    let own = tokio::fs::read_to_string(&file).await.map_err(|error| format!("{file}: {error}"))?;
    let authority = environment.get("AZURE_AUTHORITY_HOST");
    let authority = authority.unwrap_or_else(|| "https://login.microsoftonline.com".to_owned());
    // It becomes a part of the path.
    let tenant = crate::path::segment(tenant);
    let url = format!("{}/{tenant}/oauth2/v2.0/token", authority.trim_end_matches('/'));
    let fields = [
        ("client_id", client),
        ("scope", SCOPE),
        ("client_assertion_type", ASSERTION),
        ("client_assertion", own.trim()),
        ("grant_type", "client_credentials"),
    ];
    let answer = Question::form(url, &fields).ask().await?;
    Token::of_answer(&answer, now)
}
