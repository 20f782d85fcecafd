//! What Secrets say about how a repository is reached.

use serde_json::Value;
use sluice_api::model::{HelmChart, SecretRef};
use sluice_api::object;

use crate::error::{Error, Result};
use crate::knowledge::catalog::{Catalog, ContentKey};
use crate::knowledge::chart_request::Access;
use crate::knowledge::reads::Reads;
use crate::rendering::content::decode;

/// Keys under which a registry's configuration stands in a Secret.
const CONFIGS: [&str; 2] = [".dockerconfigjson", "config.json"];

/// How the chart's repository is reached.
///
/// # Errors
/// The field, the Secret, and what is wrong with it; never what it says.
pub(crate) fn of(
    chart: &HelmChart,
    namespace: impl Fn(&str) -> String,
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<Access> {
    let mut secret = |reference: &SecretRef| {
        let key: ContentKey = ("Secret".to_owned(), namespace(&reference.namespace), reference.name.clone());
        let named = format!("{}: Secret {}/{}", reference.path, key.1, key.2);
        let found = reads.content(catalog, &key).map_err(|error| error.within(&reference.path))?;
        match found.cloned() {
            Some(found) => Ok((found, named)),
            None => Err(Error::Absent { object: named, or: String::new() }),
        }
    };
    let mut access = Access {
        insecure_skip_tls_verify: chart.access.insecure_skip_tls_verify,
        plain_http: chart.access.plain_http,
        ..Access::default()
    };
    if let Some(reference) = &chart.access.credentials {
        let (found, named) = secret(reference)?;
        access.login =
            Some(login(&found, &chart.access.key, host(&chart.repository_url)).ok_or_else(|| {
                let lacks =
                    "has neither username and password nor a registry configuration for the host; add them";
                Error::value(named, lacks)
            })?);
    }
    if let Some(reference) = &chart.access.ca {
        let (found, named) = secret(reference)?;
        let ca = ["ca.crt", "ca", "caFile"].iter().find_map(|key| value(&found, key));
        access.ca = Some(ca.ok_or_else(|| Error::value(named, "has no ca.crt; add it"))?);
    }
    Ok(access)
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

fn login(secret: &Value, key: &str, host: &str) -> Option<(String, String)> {
    if key.is_empty()
        && let (Some(user), Some(password)) = (value(secret, "username"), value(secret, "password"))
    {
        return Some((user, password));
    }
    let mut keys = CONFIGS.iter().copied().chain([key]).filter(|known| key.is_empty() || *known == key);
    let config = keys.find_map(|key| value(secret, key))?;
    let config: Value = serde_json::from_str(&config).ok()?;
    let auths = config.get("auths")?.as_object()?;
    let entry = auths.iter().find(|(server, _)| self::host(server) == host)?.1;
    let text = |field: &str| entry.get(field).and_then(Value::as_str).map(str::to_owned);
    if let (Some(user), Some(password)) = (text("username"), text("password")) {
        return Some((user, password));
    }
    let auth = decode(&text("auth")?)?;
    auth.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

/// A value of a Secret, as text.
fn value(secret: &Value, key: &str) -> Option<String> {
    if let Some(text) = object::at(secret, &["stringData", key]).and_then(Value::as_str) {
        return Some(text.to_owned());
    }
    object::at(secret, &["data", key]).and_then(Value::as_str).and_then(decode)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn a_login_is_two_keys_or_an_entry_of_a_registry_configuration() {
        let plain = json!({"stringData": {"username": "u", "password": "p:q"}});
        let expected = Some(("u".to_owned(), "p:q".to_owned()));
        assert_eq!(login(&plain, "", "h"), expected);
        let config = |entry: Value| json!({"stringData": {"k": json!({"auths": {"https://r.example.com/v1/": entry}}).to_string()}});
        let encoded = config(json!({"auth": "dTpwOnE="}));
        assert_eq!(login(&encoded, "k", "r.example.com"), expected);
        assert_eq!(login(&encoded, "k", "other.example.com"), None);
        let clear = config(json!({"username": "u", "password": "p:q"}));
        assert_eq!(login(&clear, "k", "r.example.com"), expected);
    }
}
