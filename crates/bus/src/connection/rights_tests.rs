//! What each role may do on the bus, seen from what it works with.

use std::collections::BTreeSet;

use sluice_api::ClusterRef;
use sluice_protocol::{Role, Shard, Table, subject};

use crate::buckets::interest;
use crate::connection::users::Rights;
use crate::layout::losses;

const TABLES: [Table; 4] = [Table::Changes, Table::Reports, Table::Desired, Table::Status];
const SHARDS: u16 = 4;

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("default", "c")
}

fn agent() -> Role {
    Role::Agent(Some(cluster()))
}

/// Everybody whose rights are a list.
fn roles() -> impl Iterator<Item = (Role, Rights)> {
    let all = Role::OF_ALL_CLUSTERS.into_iter().chain([agent()]);
    all.filter_map(|role| Rights::of(&role, SHARDS).map(|rights| (role, rights)))
}

/// The names of the roles that may publish this.
fn may(subject: &str) -> Vec<String> {
    let some = roles().filter(|(_, rights)| rights.may_publish(subject));
    some.map(|(role, _)| if role == agent() { "agent of c".to_owned() } else { role.name().to_owned() })
        .collect()
}

#[test]
fn a_pattern_matches_as_the_server_matches_it() {
    let takes = |pattern: &str, subject: &str| {
        Rights { publish: vec![pattern.to_owned()], subscribe: Vec::new() }.may_publish(subject)
    };
    assert!(takes("a.b", "a.b") && takes("a.*", "a.b") && takes("*.b", "a.b"));
    assert!(takes("a.>", "a.b") && takes("a.>", "a.b.c") && takes(">", "a"));
    assert!(!takes("a.>", "a"), "there is one token at least");
    assert!(!takes("a.*", "a.b.c") && !takes("a.*", "a") && !takes("a.b", "a") && !takes("a", "a.b"));
    assert!(!takes("a.b*", "a.bc"), "a star is a whole token");
}

#[test]
fn nobody_is_given_a_right_twice() {
    for (role, rights) in roles() {
        for list in [&rights.publish, &rights.subscribe] {
            assert_eq!(list.iter().collect::<BTreeSet<_>>().len(), list.len(), "{role}: {list:?}");
        }
    }
}

#[test]
fn a_table_is_read_by_who_writes_it_and_by_the_stage_after_it() {
    let readers = TABLES.map(|table| {
        let reads = may(&format!("$JS.API.CONSUMER.CREATE.{}.any", table.stream(Shard::FIRST)));
        assert_eq!(
            may(&format!("$JS.API.STREAM.MSG.GET.{}", table.stream(Shard::FIRST))),
            reads,
            "and asked for its end"
        );
        reads
    });
    assert_eq!(readers[0], ["matcher", "agent", "inspect"]);
    assert_eq!(readers[1], ["renderer", "matcher", "inspect"]);
    assert_eq!(readers[2], ["renderer", "deployer", "inspect"]);
    assert_eq!(readers[3], ["renderer", "deployer", "inspect"]);
}

#[test]
fn large_bodies_are_read_and_written_by_who_reads_and_writes_their_rows() {
    let at = |home: &str| format!("$KV.content.{home}.digest");
    let read = |home: &str| may(&format!("$JS.API.DIRECT.GET.KV_content.{}", at(home)));
    assert_eq!((may(&at("reports")), may(&at("desired"))), (vec!["matcher".into()], vec!["renderer".into()]));
    assert_eq!(read("reports"), ["renderer", "matcher", "inspect"]);
    assert_eq!(read("desired"), ["renderer", "deployer", "inspect"]);
    assert!(may("$KV.content.elsewhere.digest").is_empty());
}

#[test]
fn a_renderer_reads_the_large_bodies_of_what_clusters_can_do_and_of_no_other_change() {
    let read = |home: &str| may(&format!("$JS.API.DIRECT.GET.KV_content.$KV.content.{home}.token.digest"));
    assert_eq!(read("capabilities"), ["renderer", "agent", "inspect"]);
    assert_eq!(read("changes"), ["matcher", "agent", "inspect"]);
}

#[test]
fn rights_end_with_the_shards_that_there_are() {
    for table in &TABLES[..3] {
        assert!(may(&format!("$JS.API.CONSUMER.CREATE.{}.any", table.stream(Shard::new(SHARDS)))).is_empty());
        assert!(
            !may(&format!("$JS.API.CONSUMER.CREATE.{}.any", table.stream(Shard::new(SHARDS - 1)))).is_empty()
        );
    }
}

#[test]
fn streams_are_made_by_a_renderer_alone() {
    for action in ["CREATE", "UPDATE"] {
        assert_eq!(may(&format!("$JS.API.STREAM.{action}.DESIRED-00")), ["renderer"]);
    }
}

#[test]
fn who_may_see_all_rows_may_ask_for_their_subjects() {
    let asks = may("$JS.API.STREAM.INFO.CHANGES-00");
    assert_eq!(asks.len(), roles().count() - 1);
    assert!(!asks.contains(&"agent of c".to_owned()));
}

#[test]
fn answers_are_heard_by_who_has_asked() {
    for (role, rights) in roles() {
        let own = format!("{}.>", role.inbox());
        let inboxes: Vec<_> = rights.subscribe.iter().filter(|to| to.starts_with("_INBOX")).collect();
        assert_eq!(inboxes, [&own], "{role}");
        assert!(!rights.subscribe.iter().any(|to| to == ">" || to.starts_with('*')), "{role}");
    }
}

#[test]
fn who_writes_a_stream_says_that_it_has_lost_rows_and_the_agent_of_one_cluster_only_reports_it() {
    assert_eq!(may("$KV.sluice.epoch.REPORTS-00"), ["renderer", "matcher"]);
    assert_eq!(may("$KV.sluice.epoch.CHANGES-00"), ["renderer", "agent"]);
    let token = subject::cluster_token(&cluster());
    let reported = may(&losses::subject("CHANGES-00", &token));
    assert!(reported.contains(&"agent of c".to_owned()), "{reported:?}");
    assert!(!may(&losses::subject("CHANGES-00", "other")).contains(&"agent of c".to_owned()));
    assert!(!may(&losses::subject("DESIRED-00", &token)).contains(&"agent of c".to_owned()));
}

#[test]
fn what_is_asked_of_clusters_is_written_by_who_renders_and_taken_away_by_agents_of_all() {
    assert_eq!(may(&interest::subject(&cluster())), ["renderer", "agent"]);
}

#[test]
fn nobody_speaks_for_another_stage_in_the_journal() {
    for stage in ["renderer", "matcher", "deployer"] {
        assert_eq!(may(&format!("journal.{stage}.any")), [stage]);
    }
    assert_eq!(may("journal.agent.other.any"), ["agent"]);
    assert_eq!(
        may(&format!("journal.agent.{}.any", subject::cluster_token(&cluster()))),
        ["agent", "agent of c"]
    );
}

#[test]
fn who_only_looks_changes_nothing_but_that_it_is_heard_asking() {
    let writes = |role: Role| {
        let rights = Rights::of(&role, SHARDS).map(|rights| rights.publish).unwrap_or_default();
        let own = role.inbox();
        let kept = |subject: &String| !subject.starts_with("$JS.API.") && !subject.starts_with(&own);
        rights.into_iter().filter(kept).collect::<Vec<_>>()
    };
    assert_eq!(writes(Role::People), [subject::ROLL_CALL]);
    assert_eq!(writes(Role::Inspect), ["$KV.sluice.recipients.inspect"]);
}
