//! Kubeconfig files for simulated clusters.

/// One context of a kubeconfig.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Name of the cluster, the user and the context.
    pub name: String,
    /// URL of the API server.
    pub server: String,
    /// Bearer token.
    pub token: String,
}

/// A kubeconfig with these contexts, the first of them current.
pub fn render(contexts: &[Context]) -> String {
    let current = contexts.first().map(|context| context.name.as_str()).unwrap_or_default();
    let mut out =
        format!("apiVersion: v1\nkind: Config\npreferences: {{}}\ncurrent-context: {}\n", quote(current));
    section(&mut out, "clusters", contexts, |context| {
        format!("cluster:\n    server: {}", quote(&context.server))
    });
    section(&mut out, "users", contexts, |context| format!("user:\n    token: {}", quote(&context.token)));
    section(&mut out, "contexts", contexts, |context| {
        let name = quote(&context.name);
        format!("context:\n    cluster: {name}\n    user: {name}")
    });
    out
}

fn section(out: &mut String, name: &str, contexts: &[Context], entry: impl Fn(&Context) -> String) {
    out.push_str(&format!("{name}:{}\n", if contexts.is_empty() { " []" } else { "" }));
    for context in contexts {
        out.push_str(&format!("- name: {}\n  {}\n", quote(&context.name), entry(context)));
    }
}

/// A JSON string is a YAML scalar too.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::Value;

    #[test]
    fn it_is_yaml_with_one_context_per_cluster() {
        let context =
            |name: &str| Context { name: name.into(), server: format!("http://x/{name}"), token: "t".into() };
        let parsed: Value = serde_saphyr::from_str(&render(&[context("a"), context("b")])).unwrap();
        assert_eq!(parsed["current-context"], "a");
        assert_eq!(parsed["contexts"][1]["context"]["cluster"], "b");
        assert_eq!(parsed["clusters"][1]["cluster"]["server"], "http://x/b");
        assert_eq!(parsed["users"][0]["user"]["token"], "t");
    }
}
