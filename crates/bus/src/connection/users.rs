//! Who may do what on the bus, and the server's configuration that says so.
//!
//! ```text
//! account SLUICE      stages and operator: the streams are here
//!   ▲ imports, each with the subjects of one cluster
//! accounts AGENT-…    the agent of one cluster each, with nothing else in it
//! account PEOPLE      who looks
//! account INSPECT     who answers others
//! ```
//!
//! Permissions alone do not keep a user of the same account from writing what it may not: whoever may ask the server
//! anything names the subject that the answer goes to, and an answer may be a row of its own making. The server does not
//! check it. An import does: answers stay in the account that asked. So whoever is not trusted with the whole bus has an
//! account of its own.

// D-1201: whoever is not trusted with the whole bus has an account of its own.

use sluice_api::ClusterRef;
use sluice_protocol::{Capabilities, Role, Shard, Table, subject};

use crate::buckets::contents::CAPABILITIES;
use crate::buckets::interest;
use crate::layout::losses;
use crate::layout::{CLOUD_EVENTS, CONFIG, CONTENT, INTEREST, JOURNAL, PROBLEMS};
use crate::seal::{keys, recipients};

/// What one user may send and hear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Subjects that it may publish to, requests included.
    pub publish: Vec<String>,
    /// Subjects that it may subscribe to.
    pub subscribe: Vec<String>,
}

/// Everybody's questions about the server and the streams; the answers name no row.
const QUESTIONS: [&str; 3] = ["$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST"];
/// The answer to this one lists the subjects of all rows, for who asks for them: it is for those who may read these.
const SUBJECTS: &str = "$JS.API.STREAM.INFO.*";
/// What a reader does with the consumer that it has made. Its name is a random number that nobody else knows.
const READING: [&str; 3] =
    ["$JS.API.CONSUMER.INFO.*.*", "$JS.API.CONSUMER.MSG.NEXT.*.>", "$JS.API.CONSUMER.DELETE.*.*"];
/// What is told when streams come and go.
const ADVISORIES: &str = "$JS.EVENT.ADVISORY.STREAM.>";

impl Rights {
    /// The rights of a role on a bus with so many shards; `None` for the operator, who may do everything.
    pub fn of(role: &Role, shards: u16) -> Option<Self> {
        let mut rights = Self::common(role);
        match role {
            Role::Operator => return None,
            Role::Agent(Some(cluster)) => rights.agent_of(cluster, shards),
            Role::Deployer(Some(cluster)) => rights.deployer_of(cluster),
            Role::Agent(None) => {
                rights.stage(role, Table::Changes, shards);
                rights.reads(&[bucket(INTEREST), CLOUD_EVENTS.to_owned()]);
                // The row of a cluster that has gone.
                rights.publish.push(entries(INTEREST));
                rights.bodies(CAPABILITIES, true);
                // Which clusters have an agent of their own.
                rights.subscribe.push(subject::all_members_subject().to_owned());
            }
            Role::Matcher => {
                rights.stage(role, Table::Reports, shards);
                rights.reads(&streams(Table::Changes, shards));
                rights.reads(&[bucket(INTEREST)]);
                rights.bodies(Table::Changes.name(), false);
            }
            Role::Renderer => rights.renderer(shards),
            Role::Deployer(None) => {
                rights.stage(role, Table::Status, shards);
                rights.reads(&streams(Table::Desired, shards));
                rights.bodies(Table::Desired.name(), false);
                // Which of those are heard that are in their clusters.
                rights.subscribe.push(subject::all_members_subject().to_owned());
            }
            Role::People => {
                rights.reads(&[bucket(PROBLEMS), bucket(INTEREST), JOURNAL.to_owned()]);
                rights.subscribe.extend(["journal.>".to_owned(), subject::all_members_subject().to_owned()]);
                rights.publish.push(subject::ROLL_CALL.to_owned());
            }
            Role::Inspect => {
                for table in [Table::Changes, Table::Reports, Table::Desired, Table::Status] {
                    rights.reads(&streams(table, shards));
                    rights.bodies(table.name(), false);
                }
                rights.bodies(CAPABILITIES, false);
                rights.reads(&[bucket(PROBLEMS)]);
                rights.subscribe.push("journal.>".to_owned());
            }
        }
        if keys::reads(role) {
            // Which key it reads with.
            rights.publish.push(recipients::subject(&keys::stage_of(role)));
        }
        Some(rights)
    }

    /// With those of another role, each once.
    pub(super) fn add(&mut self, others: Self) {
        let news = |all: &mut Vec<String>, others: Vec<String>| {
            let others: Vec<_> = others.into_iter().filter(|subject| !all.contains(subject)).collect();
            all.extend(others);
        };
        news(&mut self.publish, others.publish);
        news(&mut self.subscribe, others.subscribe);
    }

    /// Whether a server takes this subject of who has these rights.
    pub fn may_publish(&self, subject: &str) -> bool {
        self.publish.iter().any(|pattern| matches(pattern, subject))
    }

    fn renderer(&mut self, shards: u16) {
        self.stage(&Role::Renderer, Table::Desired, shards);
        self.reads(&streams(Table::Reports, shards));
        self.reads(&[Table::Status.stream(Shard::FIRST), bucket(INTEREST), bucket(PROBLEMS)]);
        self.bodies(Table::Reports.name(), false);
        self.bodies(Table::Status.name(), false);
        self.bodies(CAPABILITIES, false);
        // What clusters can do, and no other row of that stream.
        let (stream, filter) = Capabilities::rows();
        self.publish.push(format!("$JS.API.CONSUMER.CREATE.{stream}.*.{filter}"));
        let made = ["$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.UPDATE.*"].map(str::to_owned);
        self.publish.extend([entries(INTEREST), entries(CONFIG)].into_iter().chain(made));
    }

    /// Looking at the server, and at how the bus is laid out.
    fn common(role: &Role) -> Self {
        let lists = role.only().is_none().then_some(&SUBJECTS);
        let publish =
            QUESTIONS.iter().chain(lists).chain(&READING).map(|&subject| subject.to_owned()).collect();
        let subscribe = vec![format!("{}.>", role.inbox()), ADVISORIES.to_owned()];
        let mut rights = Self { publish, subscribe };
        // Whether messages come through is seen by sending oneself some.
        rights.publish.push(format!("{}.>", role.inbox()));
        rights.publish.push(format!("$JS.API.CONSUMER.CREATE.{}.>", bucket(CONFIG)));
        rights.publish.push(format!("$JS.API.DIRECT.GET.{}.{}", bucket(CONFIG), entries(CONFIG)));
        rights
    }

    /// What every stage does: it writes a table and reads what it wrote, and tells others of itself.
    fn stage(&mut self, role: &Role, table: Table, shards: u16) {
        let stage = role.name();
        self.publish.push(format!("{}.>", table.name()));
        self.reads(&streams(table, shards));
        self.writes(table, shards);
        self.tells(role, &format!("$KV.{PROBLEMS}.{stage}.*.*"));
        self.bodies(table.name(), true);
    }

    /// Large bodies of this home, each by its digest.
    fn bodies(&mut self, home: &str, writes: bool) {
        let bodies = format!("$KV.{CONTENT}.{home}.>");
        self.publish.push(format!("$JS.API.DIRECT.GET.{}.{bodies}", bucket(CONTENT)));
        if writes {
            self.publish.push(bodies);
        }
    }

    /// The same for one cluster: whatever names another one is refused.
    fn agent_of(&mut self, cluster: &ClusterRef, shards: u16) {
        let token = subject::cluster_token(cluster);
        let rows = format!("{}.*.{token}.>", Table::Changes.name());
        let row = interest::subject(cluster);
        let sent = subject::cloud_events_of(cluster);
        self.publish.extend([
            format!("$JS.API.CONSUMER.CREATE.*.*.{rows}"),
            format!("$JS.API.CONSUMER.CREATE.{}.*.{row}", bucket(INTEREST)),
            format!("$JS.API.DIRECT.GET.*.{rows}"),
            format!("$JS.API.DIRECT.GET.{}.{row}", bucket(INTEREST)),
            format!("$JS.API.CONSUMER.CREATE.{CLOUD_EVENTS}.*.{sent}"),
            sent,
            rows,
        ]);
        let losses =
            streams(Table::Changes, shards).into_iter().map(|stream| losses::subject(&stream, &token));
        self.publish.extend(losses);
        for home in [Table::Changes.name(), CAPABILITIES] {
            self.bodies(&format!("{home}.{token}"), true);
        }
        let role = Role::Agent(Some(cluster.clone()));
        self.tells(&role, &format!("$KV.{PROBLEMS}.{}.{token}.*", role.name()));
    }

    /// What a deployer may that is in its cluster: it reads what is for that one, and says what came of it.
    fn deployer_of(&mut self, cluster: &ClusterRef) {
        let token = subject::cluster_token(cluster);
        let of = |table: Table| format!("{}.*.{token}.>", table.name());
        let (desired, status) = (of(Table::Desired), of(Table::Status));
        let row = interest::subject(cluster);
        self.publish.extend([
            format!("$JS.API.CONSUMER.CREATE.*.*.{desired}"),
            format!("$JS.API.CONSUMER.CREATE.*.*.{status}"),
            format!("$JS.API.CONSUMER.CREATE.{}.*.{row}", bucket(INTEREST)),
            format!("$JS.API.DIRECT.GET.*.{status}"),
            format!("$JS.API.DIRECT.GET.{}.{row}", bucket(INTEREST)),
            losses::subject(&Table::Status.stream(Shard::FIRST), &token),
            // By its mark it sees that everything has come which was there.
            format!("{}.*.{token}.~mark", Table::Desired.name()),
            status,
        ]);
        // Bodies are named by their digest, which nobody knows who has no row that names it.
        self.bodies(Table::Desired.name(), false);
        self.bodies(&format!("{}.{token}", Table::Status.name()), true);
        let role = Role::Deployer(Some(cluster.clone()));
        self.tells(&role, &format!("$KV.{PROBLEMS}.{}.{token}.*", role.name()));
    }

    /// Who writes into a stream says so when the stream has lost what it had acknowledged: then it is another one.
    fn writes(&mut self, table: Table, shards: u16) {
        let epochs = streams(table, shards).into_iter().map(|stream| format!("$KV.{CONFIG}.epoch.{stream}"));
        self.publish.extend(epochs);
    }

    fn tells(&mut self, role: &Role, problems: &str) {
        let group = subject::token(&role.group());
        self.publish.extend([problems.to_owned(), journal_of(role), format!("members.{group}.*")]);
        self.subscribe.push(format!("members.{group}.>"));
        // An account of its own hears nobody who asks.
        if role.only().is_none() {
            self.subscribe.push(subject::ROLL_CALL.to_owned());
        }
    }

    fn reads(&mut self, streams: &[String]) {
        for stream in streams {
            self.publish.extend([
                format!("$JS.API.CONSUMER.CREATE.{stream}.>"),
                format!("$JS.API.STREAM.MSG.GET.{stream}"),
                format!("$JS.API.DIRECT.GET.{stream}"),
                format!("$JS.API.DIRECT.GET.{stream}.>"),
            ]);
        }
    }
}

/// Whether a server matches the subject by this pattern.
fn matches(pattern: &str, subject: &str) -> bool {
    let (mut patterns, mut tokens) = (pattern.split('.'), subject.split('.'));
    loop {
        match (patterns.next(), tokens.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some(pattern), Some(token)) if pattern == "*" || pattern == token => {}
            _ => return false,
        }
    }
}

/// What a stage tells people; who serves one cluster alone tells of that one.
pub(super) fn journal_of(role: &Role) -> String {
    match role.only() {
        Some(cluster) => format!("journal.{}.{}.>", role.name(), subject::cluster_token(cluster)),
        None => format!("journal.{}.>", role.name()),
    }
}

fn bucket(name: &str) -> String {
    format!("KV_{name}")
}

fn entries(bucket: &str) -> String {
    format!("$KV.{bucket}.>")
}

fn streams(table: Table, shards: u16) -> Vec<String> {
    match table {
        Table::Status => vec![table.stream(Shard::FIRST)],
        _ => Shard::all(shards).map(|shard| table.stream(shard)).collect(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn may_publish(role: &Role, subject: &str) -> bool {
        Rights::of(role, 4).is_none_or(|rights| rights.may_publish(subject))
    }

    fn agent(name: &str) -> Role {
        Role::Agent(Some(ClusterRef::sveltos("default", name)))
    }

    fn change(name: &str) -> String {
        let token = subject::cluster_token(&ClusterRef::sveltos("default", name));
        format!("changes.03.{token}.~.~.v1.Service.default.x")
    }

    #[test]
    fn a_stage_writes_its_own_table_and_no_other() {
        let tables = [Table::Changes, Table::Reports, Table::Desired, Table::Status];
        let roles = [Role::Agent(None), Role::Matcher, Role::Renderer, Role::Deployer(None)];
        for (index, role) in roles.iter().enumerate() {
            for (other, table) in tables.iter().enumerate() {
                let subject = format!("{}.00.x", table.name());
                assert_eq!(may_publish(role, &subject), index == other, "{role}: {subject}");
            }
        }
        for role in [Role::People, Role::Inspect] {
            assert!(
                tables.iter().all(|table| !may_publish(&role, &format!("{}.00.x", table.name()))),
                "{role}"
            );
        }
        assert!(may_publish(&Role::Operator, "$JS.API.STREAM.DELETE.CHANGES-00"));
    }

    #[test]
    fn the_agent_of_one_cluster_names_no_other() {
        let (own, other) = (change("c"), change("d"));
        assert!(may_publish(&agent("c"), &own) && !may_publish(&agent("c"), &other));
        for action in ["$JS.API.DIRECT.GET.CHANGES-03", "$JS.API.CONSUMER.CREATE.CHANGES-03.any"] {
            assert!(may_publish(&agent("c"), &format!("{action}.{own}")), "{action}");
            assert!(!may_publish(&agent("c"), &format!("{action}.{other}")), "{action}");
        }
        // What names no cluster would read them all.
        assert!(!may_publish(&agent("c"), "$JS.API.CONSUMER.CREATE.CHANGES-03"));
        assert!(!may_publish(&agent("c"), "$JS.API.STREAM.MSG.GET.CHANGES-03"));
        let interest = |name: &str| interest::subject(&ClusterRef::sveltos("default", name));
        let read = |name: &str| format!("$JS.API.DIRECT.GET.KV_interest.{}", interest(name));
        assert!(may_publish(&agent("c"), &read("c")) && !may_publish(&agent("c"), &read("d")));
        assert!(!may_publish(&agent("c"), &interest("c")), "it reads what is asked of it");
    }

    #[test]
    fn the_deployer_in_a_cluster_reads_what_is_for_it_and_speaks_of_no_other() {
        let role = |name: &str| Role::Deployer(Some(ClusterRef::sveltos("default", name)));
        let token = |name: &str| subject::cluster_token(&ClusterRef::sveltos("default", name));
        let may = |subject: &dyn Fn(&str) -> String| {
            (may_publish(&role("c"), &subject(&token("c"))), may_publish(&role("c"), &subject(&token("d"))))
        };
        for subject in [
            "status.03.TOKEN.01.p",
            "status.03.TOKEN.~shown.summary.p",
            "status.00.TOKEN.~owner",
            "desired.03.TOKEN.~mark",
            "$JS.API.CONSUMER.CREATE.DESIRED-03.any.desired.03.TOKEN.>",
            "$JS.API.CONSUMER.CREATE.STATUS.any.status.*.TOKEN.>",
            "$KV.content.status.TOKEN.0",
            "$KV.problems.deployer.TOKEN.x",
            "$KV.sluice.recipients.deployer.TOKEN",
            "journal.deployer.TOKEN.applied",
        ] {
            assert_eq!(may(&|token| subject.replace("TOKEN", token)), (true, false), "{subject}");
        }
        for subject in [
            "desired.03.TOKEN.01.p",
            "changes.03.TOKEN.~.~.v1.Service.default.x",
            "$KV.content.desired.0",
            "$JS.API.CONSUMER.CREATE.DESIRED-03",
            "$JS.API.CONSUMER.CREATE.DESIRED-03.any.desired.03.>",
            "$JS.API.STREAM.MSG.GET.DESIRED-03",
            "$JS.API.STREAM.INFO.DESIRED-03",
            "$JS.API.DIRECT.GET.DESIRED-03.desired.03.TOKEN.01.p",
            "$KV.sluice.recipients.deployer",
            "journal.deployer.applied",
        ] {
            assert_eq!(may(&|token| subject.replace("TOKEN", token)), (false, false), "{subject}");
        }
    }

    #[test]
    fn the_agent_of_one_cluster_reads_and_sends_cloud_events_of_its_own_only() {
        for action in ["", "$JS.API.CONSUMER.CREATE.CLOUDEVENTS.any."] {
            let of = |name: &str| {
                let cluster = ClusterRef::sveltos("default", name);
                format!("{action}{}", subject::cloud_event(&cluster, "orders.eu"))
            };
            assert!(may_publish(&agent("c"), &of("c")) && !may_publish(&agent("c"), &of("d")), "{action}");
        }
        assert!(!may_publish(&agent("c"), "$JS.API.CONSUMER.CREATE.CLOUDEVENTS.any"));
        assert!(!may_publish(&Role::People, "cloudevents.c.orders"));
    }

    #[test]
    fn a_renderer_reads_what_clusters_can_do_and_nothing_else_of_their_rows() {
        let (stream, filter) = sluice_protocol::Capabilities::rows();
        let reads = |filter: &str| {
            may_publish(&Role::Renderer, &format!("$JS.API.CONSUMER.CREATE.{stream}.any.{filter}"))
        };
        assert!(reads(&filter) && !reads("changes.>") && !reads(&change("c")));
        assert!(!may_publish(&Role::Renderer, &format!("$JS.API.DIRECT.GET.{stream}.{}", change("c"))));
    }

    #[test]
    fn nobody_but_the_operator_deletes_a_stream_or_purges_it() {
        let others = Role::OF_ALL_CLUSTERS.into_iter().filter(|role| *role != Role::Operator);
        for role in others.chain([agent("c")]) {
            for action in ["DELETE", "PURGE", "SNAPSHOT", "RESTORE"] {
                assert!(
                    !may_publish(&role, &format!("$JS.API.STREAM.{action}.CHANGES-00")),
                    "{role}: {action}"
                );
            }
        }
    }

    #[test]
    fn who_rows_are_sealed_for_is_said_by_the_stage_itself() {
        let says = |role: &Role, stage: &str| may_publish(role, &recipients::subject(stage));
        for stage in ["matcher", "deployer", "inspect"] {
            for role in Role::OF_ALL_CLUSTERS.into_iter().chain([agent("c")]) {
                // The renderer lays out the bus, and may write every setting.
                let may = role.name() == stage || [Role::Renderer, Role::Operator].contains(&role);
                assert_eq!(says(&role, stage), may, "{role}: {stage}");
            }
        }
        assert!(!says(&agent("c"), "renderer") && !says(&Role::Matcher, "renderer"));
        assert!(
            !may_publish(&agent("c"), "$KV.sluice.sealed")
                && !may_publish(&Role::Matcher, "$KV.sluice.sealed")
        );
    }

    #[test]
    fn a_stage_tells_its_own_problems_only() {
        let problem = |stage: &str| format!("$KV.problems.{stage}.cluster.digest");
        assert!(may_publish(&Role::Matcher, &problem("matcher")));
        assert!(
            !may_publish(&Role::Matcher, &problem("renderer"))
                && !may_publish(&Role::People, &problem("people"))
        );
        let of = |name: &str| {
            let token = subject::cluster_token(&ClusterRef::sveltos("default", name));
            format!("$KV.problems.agent.{token}.digest")
        };
        assert!(may_publish(&agent("c"), &of("c")) && !may_publish(&agent("c"), &of("d")));
    }
}
