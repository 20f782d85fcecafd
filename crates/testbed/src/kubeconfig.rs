//! Reading the kubeconfig of simulated clusters.

use anyhow::{Context as _, bail};
use serde_json::Value;

/// How to reach one cluster over plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeContext {
    /// Name of the context.
    pub name: String,
    /// `host:port`.
    pub authority: String,
    /// What stands before every path of the API.
    pub prefix: String,
    /// Bearer token.
    pub token: String,
}

/// The contexts of a kubeconfig, in its order.
///
/// # Errors
/// What is missing in it.
pub fn contexts(text: &str) -> anyhow::Result<Vec<KubeContext>> {
    let parsed: Result<Value, _> = serde_saphyr::from_str(text);
    let file = parsed.map_err(|error| anyhow::anyhow!("the kubeconfig cannot be read: {error}"))?;
    list(&file, "contexts").iter().map(|context| access(&file, context)).collect()
}

fn access(file: &Value, context: &Value) -> anyhow::Result<KubeContext> {
    let name = text(context, &["name"]);
    let server =
        text(named(file, "clusters", text(context, &["context", "cluster"]))?, &["cluster", "server"]);
    let user = named(file, "users", text(context, &["context", "user"]))?;
    let Some(rest) = server.strip_prefix("http://") else {
        bail!("context {name}: the server {server:?} does not begin with http://");
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = if path.is_empty() { String::new() } else { format!("/{}", path.trim_end_matches('/')) };
    let token = text(user, &["user", "token"]).to_owned();
    Ok(KubeContext { name: name.to_owned(), authority: authority.to_owned(), prefix, token })
}

fn named<'a>(file: &'a Value, section: &str, name: &str) -> anyhow::Result<&'a Value> {
    let found = list(file, section).iter().find(|entry| text(entry, &["name"]) == name);
    found.with_context(|| format!("the kubeconfig has no {name:?} in {section}"))
}

fn list<'a>(file: &'a Value, section: &str) -> &'a [Value] {
    file.get(section).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    path.iter().try_fold(value, |value, key| value.get(key)).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const FILE: &str = "apiVersion: v1\nkind: Config\n\
        clusters:\n- name: a\n  cluster:\n    server: http://127.0.0.1:1/clusters/a\n\
        users:\n- name: a\n  user:\n    token: t\n\
        contexts:\n- name: a\n  context:\n    cluster: a\n    user: a\n";

    #[test]
    fn contexts_are_read() {
        let access = KubeContext {
            name: "a".into(),
            authority: "127.0.0.1:1".into(),
            prefix: "/clusters/a".into(),
            token: "t".into(),
        };
        assert_eq!(contexts(FILE).unwrap(), [access]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = contexts(&FILE.replace("cluster: a", "cluster: b")).unwrap_err();
        assert!(error.to_string().contains("no \"b\" in clusters"), "{error}");
    }
}
