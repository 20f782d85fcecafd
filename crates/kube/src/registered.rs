//! Kubeconfigs of registered clusters: somebody else wrote them.
//!
//! A kubeconfig may name programs to run, files to read and proxies to go through. Whoever may write the Secret of a registration
//! would do all that in the processes that hold the credentials of every cluster. So of such a kubeconfig counts what is written in it
//! alone: all fields are looked at, those that are known to be harmless are taken over, and any other is refused. No message has a
//! value of it: it could be a token.

// D-1208: a registered kubeconfig runs no program and reads no file.

use kube::config::Kubeconfig;
use serde_json::{Map, Value, json};
use sluice_api::yaml;

pub(crate) mod token;

/// Fields of a cluster that say nothing beyond where it is and who it is.
const OF_CLUSTERS: [&str; 6] = [
    "server",
    "certificate-authority-data",
    "insecure-skip-tls-verify",
    "tls-server-name",
    "disable-compression",
    "extensions",
];
/// Fields of a user that are the credentials themselves.
const OF_USERS: [&str; 6] =
    ["token", "username", "password", "client-certificate-data", "client-key-data", "extensions"];
const OF_CONTEXTS: [&str; 4] = ["cluster", "user", "namespace", "extensions"];
const PROXY: &str = "proxy-url";

/// The current context of a kubeconfig, with what is harmless of it.
///
/// # Errors
/// The field that is refused, or is missing, and the remedy.
pub(crate) fn read(text: &str, proxies: bool) -> Result<Kubeconfig, String> {
    let file = document(text)?;
    let current = file.get("current-context").and_then(Value::as_str).unwrap_or_default();
    let context = entry(&file, "contexts", current, "current-context")?.fields("context", &OF_CONTEXTS)?;
    let named = |field: &str| context.get(field).and_then(Value::as_str).unwrap_or_default();
    let mut known: Vec<&str> = OF_CLUSTERS.to_vec();
    known.extend(proxies.then_some(PROXY));
    let cluster =
        entry(&file, "clusters", named("cluster"), "the context's cluster")?.fields("cluster", &known)?;
    let user = match named("user") {
        "" => Map::new(),
        name => entry(&file, "users", name, "the context's user")?.fields("user", &OF_USERS)?,
    };
    let alone = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c", "namespace": context.get("namespace")}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "c", "user": user}],
    });
    serde_json::from_value(alone).map_err(|_| {
        "the kubeconfig cannot be used: a field of its cluster or user is not of the right type".to_owned()
    })
}

/// The one document of a kubeconfig.
fn document(text: &str) -> Result<Value, String> {
    let mut documents = yaml::documents(text).map_err(|error| {
        format!("the kubeconfig cannot be read: it is no YAML{}", place(error.text()).unwrap_or_default())
    })?;
    if documents.len() != 1 {
        return Err(format!(
            "the kubeconfig cannot be used: it has {} documents; write one",
            documents.len()
        ));
    }
    let file = documents.remove(0);
    if !file.is_object() {
        return Err(
            "the kubeconfig cannot be read: at line 1 column 1 there is no map of its fields".to_owned()
        );
    }
    Ok(file)
}

/// Where a text cannot be read: all of a message that has nothing of the text.
fn place(error: &str) -> Option<String> {
    let (_, rest) = error.split_once("line ")?;
    let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let (line, _, column) = (words.next()?, words.next().filter(|word| *word == "column")?, words.next()?);
    Some(format!(" at line {} column {}", line.parse::<u64>().ok()?, column.parse::<u64>().ok()?))
}

/// One entry of a list of a kubeconfig.
struct Entry<'k> {
    list: &'static str,
    at: usize,
    value: &'k Value,
}

/// The entry of this name.
fn entry<'k>(file: &'k Value, list: &'static str, name: &str, who: &str) -> Result<Entry<'k>, String> {
    let entries = file.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let is_it = |value: &&Value| !name.is_empty() && value.get("name").and_then(Value::as_str) == Some(name);
    let found = entries.iter().enumerate().find(|(_, value)| is_it(value));
    let (at, value) = found.ok_or_else(|| {
        format!("the kubeconfig cannot be used: {who} names nothing in its list of {list}; correct the name")
    })?;
    Ok(Entry { list, at, value })
}

impl Entry<'_> {
    /// The fields below this one, all of which are known.
    fn fields(&self, name: &str, known: &[&str]) -> Result<Map<String, Value>, String> {
        let Self { list, at, value } = self;
        let path = format!("{list}[{at}].{name}");
        let fields = match value.get(name) {
            None | Some(Value::Null) => return Ok(Map::new()),
            Some(Value::Object(fields)) => fields,
            Some(_) => return Err(format!("the kubeconfig cannot be used: {path} is no map")),
        };
        let mut kept = Map::new();
        for (field, value) in fields.iter().filter(|(_, value)| !says_nothing(value)) {
            if !known.contains(&field.as_str()) {
                return Err(format!("the kubeconfig is refused: {path}.{}: {}", shown(field), why(field)));
            }
            kept.insert(field.clone(), value.clone());
        }
        // Nobody reads what is in there.
        kept.remove("extensions");
        Ok(kept)
    }
}

fn says_nothing(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || value.as_str() == Some("")
}

/// The name of a field that kubeconfigs have; anything else could be a value that got there.
fn shown(field: &str) -> &str {
    const REFUSED: [&str; 11] = [
        "exec",
        "auth-provider",
        "tokenFile",
        "client-certificate",
        "client-key",
        "certificate-authority",
        "as",
        "as-uid",
        "as-groups",
        "as-user-extra",
        PROXY,
    ];
    if REFUSED.contains(&field) { field } else { "(a field that kubeconfigs do not have)" }
}

/// Why a field of a registered kubeconfig is refused, and what to write instead.
fn why(field: &str) -> &'static str {
    match field {
        "exec" | "auth-provider" => {
            "it would run a program of whoever wrote it; write a token, or client-certificate-data and client-key-data"
        }
        "tokenFile" => "it would read a file of this process; write the token itself",
        "client-certificate" | "client-key" | "certificate-authority" => {
            "it would read a file of this process; write the content as the field that ends with -data (sluice register does so)"
        }
        PROXY => "it would be sent through a proxy; allow that with --allow-kubeconfig-proxies",
        _ => "it is not among what a registered kubeconfig may say; remove it",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const MARK: &str = "planted-secret";

    fn kubeconfig(cluster: Value, user: Value) -> String {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "x",
            "contexts": [{"name": "y", "context": {"cluster": "none"}}, {"name": "x", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "k", "cluster": cluster}],
            "users": [{"name": "other", "user": {"exec": {"command": "sh"}}}, {"name": "u", "user": user}],
        })
        .to_string()
    }

    fn server() -> Value {
        json!({"server": "https://10.0.0.1:6443"})
    }

    #[test]
    fn what_is_written_in_it_counts_and_other_contexts_do_not() {
        let cluster = json!({"server": "https://x", "certificate-authority-data": "YQ==", "tls-server-name": "s",
            "insecure-skip-tls-verify": true, "extensions": [{"name": "e", "extension": {}}]});
        let user = json!({"token": "t", "username": "a", "password": "b", "client-certificate-data": "YQ==", "client-key-data": "Yg=="});
        let read = read(&kubeconfig(cluster, user), false).unwrap();
        assert_eq!((read.contexts.len(), read.clusters.len(), read.auth_infos.len()), (1, 1, 1));
        let (cluster, user) =
            (read.clusters[0].cluster.as_ref().unwrap(), read.auth_infos[0].auth_info.as_ref().unwrap());
        assert_eq!(cluster.server.as_deref(), Some("https://x"));
        assert_eq!(
            (cluster.tls_server_name.as_deref(), cluster.insecure_skip_tls_verify),
            (Some("s"), Some(true))
        );
        assert!(user.token.is_some() && user.exec.is_none() && user.client_key_data.is_some());
        assert_eq!(read.contexts[0].context.as_ref().unwrap().namespace.as_deref(), Some("n"));
    }

    #[test]
    fn what_runs_a_program_reads_a_file_or_goes_elsewhere_is_refused_without_its_value() {
        let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": MARK, "args": [MARK]});
        for (cluster, user, field) in [
            (server(), json!({"exec": exec}), "users[1].user.exec: it would run a program"),
            (
                server(),
                json!({"auth-provider": {"name": MARK, "config": {"cmd-path": MARK}}}),
                "users[1].user.auth-provider",
            ),
            (
                server(),
                json!({"token": MARK, "tokenFile": format!("/{MARK}")}),
                "users[1].user.tokenFile: it would read a file",
            ),
            (
                server(),
                json!({"client-certificate": MARK}),
                "users[1].user.client-certificate: it would read a file",
            ),
            (server(), json!({"client-key": MARK}), "users[1].user.client-key: it would read a file"),
            (server(), json!({"as": MARK}), "users[1].user.as: it is not among"),
            (
                json!({"server": "https://x", "certificate-authority": MARK}),
                json!({}),
                "clusters[0].cluster.certificate-authority: ",
            ),
            (json!({"server": "https://x", "proxy-url": MARK}), json!({}), "--allow-kubeconfig-proxies"),
            (json!({"server": 1, "tls-server-name": MARK}), json!({"token": MARK}), "not of the right type"),
            (json!(MARK), json!({"token": MARK}), "clusters[0].cluster is no map"),
        ] {
            let error = read(&kubeconfig(cluster, user), false).unwrap_err();
            assert!(error.contains(field) && !error.contains(MARK), "{field}: {error}");
        }
        assert!(
            read(&kubeconfig(json!({"server": "https://x", "proxy-url": "http://p"}), json!({})), true)
                .is_ok()
        );
    }

    #[test]
    fn what_is_no_kubeconfig_is_said_without_its_text() {
        for text in [
            format!("token: {MARK}: ]"),
            format!("- {MARK}"),
            String::new(),
            format!("{MARK}\n---\n{MARK}"),
            json!({"current-context": MARK}).to_string(),
        ] {
            let error = read(&text, false).unwrap_err();
            assert!(
                error.starts_with("the kubeconfig cannot be") && !error.contains(MARK),
                "{text:?}: {error}"
            );
        }
    }

    proptest! {
        /// Whatever fields there are: what is read names no program, file or proxy.
        #[test]
        fn nothing_else_comes_through(names in proptest::collection::vec("[a-zA-Z-]{1,24}", 0..4), pick in 0..4_usize) {
            let dangerous = ["exec", "tokenFile", "client-key", "auth-provider"][pick];
            let fields = |extra: &[String]| -> Value {
                extra.iter().map(String::as_str).chain([dangerous]).map(|name| (name.to_owned(), json!("v"))).collect::<Map<_, _>>().into()
            };
            let (of_user, of_cluster) = (kubeconfig(server(), fields(&names)), kubeconfig(fields(&names), json!({})));
            prop_assert!(read(&of_user, true).is_err());
            prop_assert!(read(&of_cluster, true).is_err());
        }
    }
}
