//! The rights of everybody as text for a nats-server.

use sluice_api::ClusterRef;
use sluice_protocol::Role;
use sluice_protocol::subject::{ROLL_CALL, members_subject};

use crate::connection::users::{Rights, journal_of};

/// What other accounts may import. Answers come one for each question, except to who reads a stream.
const EXPORTS: [(&str, &str); 15] = [
    ("service", "$JS.API.INFO"),
    ("service", "$JS.API.STREAM.>"),
    ("service", "$JS.API.CONSUMER.CREATE.>"),
    ("service", "$JS.API.CONSUMER.INFO.>"),
    ("service", "$JS.API.CONSUMER.DELETE.>"),
    ("service", "$JS.API.DIRECT.GET.>"),
    ("service", "$KV.>"),
    ("service", "changes.>"),
    ("service", "cloudevents.>"),
    ("service", AGENT_JOURNAL),
    // Of deployers that are in their clusters.
    ("service", "desired.*.*.~mark"),
    ("service", "status.>"),
    ("service", DEPLOYER_JOURNAL),
    ("service", ROLL_CALL),
    ("stream", "$JS.EVENT.ADVISORY.STREAM.>"),
];
/// What the agents of clusters tell people.
const AGENT_JOURNAL: &str = "journal.agent.>";
/// What deployers that are in their clusters tell people.
const DEPLOYER_JOURNAL: &str = "journal.deployer.>";
/// The account of the streams.
const MAIN: &str = "SLUICE";

/// A cluster that has an account of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Which one.
    pub cluster: ClusterRef,
    /// Whether not only its agent is in it, but its deployer too.
    pub pulls: bool,
}

/// Only its agent is in it.
impl From<ClusterRef> for Alone {
    fn from(cluster: ClusterRef) -> Self {
        Self { cluster, pulls: false }
    }
}

impl Alone {
    /// Clusters of which the agent is in the cluster, and others that pull.
    pub fn all(agents: &[ClusterRef], pulling: &[ClusterRef]) -> Vec<Self> {
        let pulling = pulling.iter().map(|cluster| Self { cluster: cluster.clone(), pulls: true });
        agents.iter().cloned().map(Self::from).chain(pulling).collect()
    }

    /// Who is in it: the first one names the account, and its user.
    pub fn roles(&self) -> Vec<Role> {
        let agent = Role::Agent(Some(self.cluster.clone()));
        let deployer = self.pulls.then(|| Role::Deployer(Some(self.cluster.clone())));
        [agent].into_iter().chain(deployer).collect()
    }
}

/// The `accounts` of a bus with so many shards, for a server's configuration: one user for each role, and an account
/// for each cluster in which somebody is. `key` gives the public nkey of a user, or the `$NAME` of a variable.
pub fn accounts(clusters: &[Alone], shards: u16, key: impl Fn(&Role) -> String) -> String {
    let mut out = String::from(HEAD);
    out.push_str(&format!("accounts {{\n  {MAIN} {{\n    jetstream: enabled\n    users: [\n"));
    for role in [Role::Operator, Role::Renderer, Role::Matcher, Role::Deployer(None), Role::Agent(None)] {
        user(&mut out, &role, Rights::of(&role, shards).as_ref(), &key(&role));
    }
    out.push_str("    ]\n    exports: [\n");
    for (kind, subject) in EXPORTS {
        out.push_str(&format!("      {{ {kind}: \"{subject}\" }}\n"));
    }
    out.push_str("      { service: \"$JS.API.CONSUMER.MSG.NEXT.>\", response_type: \"Stream\" }\n");
    out.push_str("      { stream: \"journal.>\" }\n    ]\n    imports: [\n");
    let clusters: Vec<Vec<Role>> = clusters.iter().map(Alone::roles).collect();
    // An agent that serves all clusters leaves those alone whose own it hears, and who is in a cluster says so that it lives.
    for roles in &clusters {
        for role in roles {
            import(&mut out, "stream", &account(&roles[0]), &members_subject(&role.group(), None));
        }
    }
    out.push_str("    ]\n  }\n");
    for role in [Role::People, Role::Inspect] {
        alone(&mut out, std::slice::from_ref(&role), shards, &key(&role));
        // What comes to an account by one import does not leave it by another: they hear each agent itself.
        for roles in &clusters {
            for role in roles {
                import(&mut out, "stream", &account(&roles[0]), &journal_of(role));
            }
        }
        out.push_str("    ]\n  }\n");
    }
    for roles in &clusters {
        alone(&mut out, roles, shards, &key(&roles[0]));
        out.push_str("    ]\n    exports: [\n");
        for role in roles {
            for subject in [journal_of(role), members_subject(&role.group(), None)] {
                out.push_str(&format!("      {{ stream: \"{subject}\" }}\n"));
            }
        }
        out.push_str("    ]\n  }\n");
    }
    out.push_str("}\n");
    out
}

/// Whom such a text is for: the clusters that have an account, and how many shards each table has; 0 in a text of others.
pub fn accounts_for(text: &str) -> (Vec<Alone>, u16) {
    let cluster = |line: &str| {
        let cluster: ClusterRef = line.strip_prefix("  \"AGENT-")?.strip_suffix("\" {")?.parse().ok()?;
        let journal = format!("{{ stream: \"{}\" }}", journal_of(&Role::Deployer(Some(cluster.clone()))));
        Some(Alone { pulls: text.contains(&journal), cluster })
    };
    let shard = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u16>().ok();
    let last = text.split("DESIRED-").skip(1).filter_map(shard).max();
    (text.lines().filter_map(cluster).collect(), last.map_or(0, |last| last.saturating_add(1)))
}

const HEAD: &str =
    "# Printed by `sluice nats users`. Include it in the configuration of every server of the bus.
# What may be known by others only is not in here: an nkey is a public key.

";

/// Name of the variable that holds a user's nkey: letters, digits and `_` only, different for different clusters.
pub fn variable(role: &Role) -> String {
    match role {
        Role::Agent(Some(cluster)) => {
            let name = cluster.path().replace('/', "_SLASH_").replace('.', "_DOT_").replace('-', "_");
            format!("NKEY_AGENT_{}_{name}", cluster.kind.lower())
        }
        role => format!("NKEY_{}", role.name().to_uppercase()),
    }
}

fn user(out: &mut String, role: &Role, rights: Option<&Rights>, key: &str) {
    out.push_str(&format!("      {{ # {role}\n        nkey: {key}\n"));
    if let Some(rights) = rights {
        out.push_str("        permissions: {\n");
        list(out, "publish", &rights.publish);
        list(out, "subscribe", &rights.subscribe);
        out.push_str("        }\n");
    }
    out.push_str("      }\n");
}

fn list(out: &mut String, name: &str, subjects: &[String]) {
    out.push_str(&format!("          {name}: {{ allow: [\n"));
    for subject in subjects {
        out.push_str(&format!("            \"{subject}\"\n"));
    }
    out.push_str("          ] }\n");
}

fn account(role: &Role) -> String {
    match role {
        Role::Agent(Some(cluster)) => format!("AGENT-{cluster}"),
        role => role.name().to_uppercase(),
    }
}

fn import(out: &mut String, kind: &str, account: &str, subject: &str) {
    out.push_str(&format!("      {{ {kind}: {{ account: \"{account}\", subject: \"{subject}\" }} }}\n"));
}

/// An account with one user, who has all these roles, and nothing but what it imports; its list of imports is left open.
fn alone(out: &mut String, roles: &[Role], shards: u16, key: &str) {
    let mut rights = Rights::default();
    roles.iter().filter_map(|role| Rights::of(role, shards)).for_each(|others| rights.add(others));
    out.push_str(&format!("  \"{}\" {{\n    users: [\n", account(&roles[0])));
    user(out, &roles[0], Some(&rights), key);
    out.push_str("    ]\n    imports: [\n");
    // Replicas of one agent hear of each other in their own account, and each of itself.
    let is_inbox = |subject: &str| roles.iter().any(|role| subject.starts_with(&role.inbox()));
    let own = |subject: &&String| subject.starts_with("members.") || is_inbox(subject);
    for subject in rights.publish.iter().filter(|subject| !own(subject)) {
        import(out, "service", MAIN, subject);
    }
    for subject in rights.subscribe.iter().filter(|subject| !own(subject)) {
        import(out, "stream", MAIN, subject);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn agent(namespace: &str, name: &str) -> Role {
        Role::Agent(Some(ClusterRef::sveltos(namespace, name)))
    }

    #[test]
    fn every_cluster_has_an_account_of_its_own_and_braces_are_closed() {
        let clusters = ["c", "d"].map(|name| ClusterRef::sveltos("default", name).into());
        let text = accounts(&clusters, 2, |role| format!("${}", variable(role)));
        for line in [
            "\"AGENT-sveltos:default/c\" {",
            "\"AGENT-sveltos:default/d\" {",
            "\"PEOPLE\" {",
            "\"INSPECT\" {",
            "SLUICE {",
        ] {
            assert_eq!(text.matches(line).count(), 1, "{line}");
        }
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert_eq!(text.matches('[').count(), text.matches(']').count());
        let keys: BTreeSet<_> = text.lines().filter_map(|line| line.trim().strip_prefix("nkey: ")).collect();
        assert_eq!(
            keys.len(),
            9,
            "five in the account of the streams, people, inspect, and two agents: {keys:?}"
        );
    }

    #[test]
    fn the_text_says_whom_it_is_for() {
        for shards in [1, 16, 256] {
            let pulls = Alone { cluster: ClusterRef::sveltos("default", "c.1"), pulls: true };
            let clusters = [pulls, ClusterRef::management().into()];
            assert_eq!(accounts_for(&accounts(&clusters, shards, variable)), (clusters.to_vec(), shards));
        }
        assert_eq!(accounts_for("accounts { A { users: [] } }"), (vec![], 0));
    }

    /// The text of one account.
    fn part<'t>(text: &'t str, name: &str) -> &'t str {
        let from = &text[text.find(&format!("  {name} {{\n")).unwrap_or(text.len())..];
        &from[..from.find("\n  }\n").unwrap_or(from.len())]
    }

    /// What stands behind a word in these lines, without quotes.
    fn subjects<'t>(text: &'t str, before: &str) -> Vec<&'t str> {
        let rest = text.lines().filter_map(|line| line.trim().strip_prefix(before));
        rest.filter_map(|rest| rest.split('"').next()).collect()
    }

    /// Whether all that one pattern matches is matched by another.
    fn covers(wide: &str, narrow: &str) -> bool {
        let (mut wide, mut narrow) = (wide.split('.'), narrow.split('.'));
        loop {
            match (wide.next(), narrow.next()) {
                (Some(">"), Some(_)) | (None, None) => return true,
                (Some("*"), Some(token)) if token != ">" => {}
                (Some(one), Some(other)) if one == other => {}
                _ => return false,
            }
        }
    }

    #[test]
    fn whatever_an_account_imports_from_the_streams_these_export() {
        let pulls = Alone { cluster: ClusterRef::sveltos("default", "c"), pulls: true };
        let text = accounts(&[pulls, ClusterRef::management().into()], 3, variable);
        let main = part(&text, "SLUICE");
        for kind in ["service", "stream"] {
            let exported = subjects(main, &format!("{{ {kind}: \""));
            let imported = subjects(&text, &format!("{{ {kind}: {{ account: \"SLUICE\", subject: \""));
            assert!(imported.len() > 3, "{kind}: {imported:?}");
            for subject in imported {
                assert!(exported.iter().any(|wide| covers(wide, subject)), "{kind} {subject}: {exported:?}");
            }
        }
    }

    #[test]
    fn the_account_of_an_agent_imports_nothing_of_another_cluster() {
        let clusters = ["c", "d"].map(|name| ClusterRef::sveltos("default", name));
        let pulling = clusters.clone().map(|cluster| Alone { cluster, pulls: true });
        let text = accounts(&pulling, 1, variable);
        let own = part(&text, "\"AGENT-sveltos:default/c\"");
        let token = |cluster| sluice_protocol::subject::cluster_token(cluster);
        assert!(own.contains(&token(&clusters[0])) && !own.contains(&token(&clusters[1])), "{own}");
    }

    #[test]
    fn who_looks_hears_each_agent_itself_and_no_agent_hears_another() {
        let [c, d] = ["c", "d"].map(|name| ClusterRef::sveltos("default", name));
        let text = accounts(&[c.into(), Alone { cluster: d, pulls: true }], 1, variable);
        let from = |name: &str| subjects(part(&text, name), "{ stream: { account: \"AGENT-").len();
        assert_eq!(from("\"PEOPLE\""), 3, "two agents and a deployer");
        assert_eq!(from("\"INSPECT\""), 3);
        assert_eq!(from("\"AGENT-sveltos:default/c\""), 0);
    }

    #[test]
    fn only_the_operator_has_no_list_of_what_it_may() {
        let text = accounts(&[], 1, variable);
        let users = text.split("{ # ").skip(1);
        let free: Vec<&str> = users
            .filter(|user| !user[..user.find("\n      }\n").unwrap_or(user.len())].contains("permissions"))
            .filter_map(|user| user.split_whitespace().next())
            .collect();
        assert_eq!(free, ["operator"]);
    }

    #[test]
    fn variables_say_whose_they_are() {
        assert_eq!(variable(&Role::Matcher), "NKEY_MATCHER");
        assert_eq!(variable(&Role::Agent(None)), "NKEY_AGENT");
        assert_eq!(variable(&agent("team-a", "c.1")), "NKEY_AGENT_sveltos_team_a_SLASH_c_DOT_1");
    }

    proptest! {
        /// A variable of the server's configuration is letters, digits and `_`; two clusters never share one.
        #[test]
        fn variables_are_words_and_different_for_different_clusters(
            a in ("[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?", "[a-z0-9]([a-z0-9.-]{0,6}[a-z0-9])?"),
            b in ("[a-z0-9]([a-z0-9-]{0,4}[a-z0-9])?", "[a-z0-9]([a-z0-9.-]{0,6}[a-z0-9])?"),
        ) {
            let (first, second) = (variable(&agent(&a.0, &a.1)), variable(&agent(&b.0, &b.1)));
            prop_assert!(first.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{}", first);
            prop_assert_eq!(first == second, a == b, "{} {}", first, second);
        }
    }
}
