//! The token of a registered kubeconfig, and the same kubeconfig with another one.

use serde_json::{Map, Value};

use super::{document, entry};

/// By what a user is known, and what a token takes the place of.
const CREDENTIALS: [&str; 9] = [
    "token",
    "tokenFile",
    "username",
    "password",
    "client-certificate",
    "client-certificate-data",
    "client-key",
    "client-key-data",
    "exec",
];

/// Who a kubeconfig is of: its current context, as far as a token is concerned. Its token is shown nowhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TokenUser {
    /// The token; nothing where it has other credentials.
    pub token: Option<String>,
    /// Namespace of the context; empty for none.
    pub namespace: String,
    /// What the context calls its user; empty for none.
    pub name: String,
}

/// Who this kubeconfig is of.
///
/// # Errors
/// What is wrong with it, without any value of it.
pub fn token_user(text: &str) -> Result<TokenUser, String> {
    let file = document(text)?;
    let context = context(&file)?;
    let named = |field: &str| context.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (namespace, name) = (named("namespace"), named("user"));
    let user = entry(&file, "users", &name, "the context's user")?;
    let token = user.value["user"]["token"].as_str().filter(|token| !token.is_empty());
    Ok(TokenUser { token: token.map(str::to_owned), namespace, name })
}

/// The same kubeconfig with this token in place of all by which the user of its current context is known: API servers ask for a
/// certificate first, and would not look at a token beside it.
///
/// # Errors
/// What is wrong with it, without any value of it.
pub fn with_token(text: &str, token: &str) -> Result<String, String> {
    let mut file = document(text)?;
    let name = context(&file)?.get("user").and_then(Value::as_str).unwrap_or_default().to_owned();
    let at = entry(&file, "users", &name, "the context's user")?.at;
    let user = file.pointer_mut(&format!("/users/{at}/user")).map(Value::take);
    let mut user = match user {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    CREDENTIALS.iter().for_each(|field| drop(user.remove(*field)));
    user.insert("token".to_owned(), token.into());
    file["users"][at]["user"] = user.into();
    Ok(file.to_string())
}

/// What a kubeconfig says beside the token of its current context, where it has one and no other credentials.
pub(crate) fn without_token(text: &str) -> Option<(Value, String)> {
    let mut file = document(text).ok()?;
    let name = context(&file).ok()?.get("user").and_then(Value::as_str)?.to_owned();
    let at = entry(&file, "users", &name, "the context's user").ok()?.at;
    let user = file.pointer_mut(&format!("/users/{at}/user"))?.as_object_mut()?;
    let Some(Value::String(token)) = user.remove("token") else { return None };
    CREDENTIALS.iter().all(|field| !user.contains_key(*field)).then_some((file, token))
}

fn context(file: &Value) -> Result<&Value, String> {
    let current = file.get("current-context").and_then(Value::as_str).unwrap_or_default();
    let context = entry(file, "contexts", current, "current-context")?;
    static NONE: Value = Value::Null;
    Ok(context.value.get("context").unwrap_or(&NONE))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn kubeconfig(user: Value) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "contexts": [{"name": "x", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "k", "cluster": {"server": "https://k", "proxy-url": "http://p", "certificate-authority-data": "YQ=="}}],
            "users": [{"name": "other", "user": {"token": "theirs"}}, {"name": "u", "user": user}],
        })
        .to_string()
    }

    #[test]
    fn only_the_token_changes_whatever_else_there_is() {
        let before = kubeconfig(json!({"token": "old", "extensions": []}));
        assert_eq!(
            with_token(&before, "new").unwrap(),
            kubeconfig(json!({"extensions": [], "token": "new"}))
        );
        let yaml = "current-context: x\ncontexts: [{name: x, context: {cluster: k, user: u}}]\n\
                    clusters: [{name: k, cluster: {server: 'https://k'}}]\nusers: [{name: u, user: {token: old}}]\n";
        let after = with_token(yaml, "new").unwrap();
        assert_eq!(token_user(&after).unwrap().token.as_deref(), Some("new"));
        assert!(super::super::read(&after, false).is_ok() && after.contains("https://k"));
    }

    #[test]
    fn a_token_takes_the_place_of_certificates_and_passwords() {
        for user in [
            json!({"client-certificate-data": "YQ==", "client-key-data": "Yg=="}),
            json!({"username": "a", "password": "b"}),
            json!({}),
            json!(null),
        ] {
            assert_eq!(token_user(&kubeconfig(user.clone())).unwrap().token, None);
            let after = with_token(&kubeconfig(user), "new").unwrap();
            assert_eq!(after, kubeconfig(json!({"token": "new"})));
        }
    }

    #[test]
    fn who_it_is_of_is_said_by_the_current_context() {
        let user = token_user(&kubeconfig(json!({"token": "t"}))).unwrap();
        assert_eq!(
            (user.namespace.as_str(), user.name.as_str(), user.token.as_deref()),
            ("n", "u", Some("t"))
        );
    }

    #[test]
    fn a_kubeconfig_without_a_user_is_refused() {
        let text = kubeconfig(json!({})).replace("\"user\":\"u\"", "\"user\":\"\"");
        assert!(with_token(&text, "planted").unwrap_err().contains("the context's user"));
        assert!(token_user("planted").err().unwrap().starts_with("the kubeconfig cannot be read"));
    }

    #[test]
    fn what_is_beside_the_token_is_the_same_however_it_is_written() {
        let (first, token) = without_token(&kubeconfig(json!({"token": "a"}))).unwrap();
        let (second, other) = without_token(&kubeconfig(json!({"token": "b"}))).unwrap();
        assert_eq!((first, token.as_str(), other.as_str()), (second, "a", "b"));
        assert_eq!(without_token(&kubeconfig(json!({"token": "a", "client-key-data": "a"}))), None);
        assert_eq!(without_token(&kubeconfig(json!({"client-key-data": "a"}))), None);
    }
}
