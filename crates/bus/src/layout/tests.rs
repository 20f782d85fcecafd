//! How a bus is laid out, and which servers and streams are refused.

use std::collections::BTreeSet;

use super::*;

fn options(shards: u16) -> BusOptions {
    BusOptions {
        connection: Connection::plain("nats://a"),
        name: "test".into(),
        shards,
        replicas: 3,
        tombstone_ttl: Duration::from_secs(3600),
        keys: BusKeys::default(),
    }
}

#[test]
fn every_table_has_its_streams_and_no_subject_two() {
    let configs = options(16).configs();
    let names: BTreeSet<_> = configs.iter().map(|config| config.name.as_str()).collect();
    assert_eq!((configs.len(), names.len()), (4 + 3 * 16 + 3, 4 + 3 * 16 + 3));
    let subjects: BTreeSet<_> = configs.iter().flat_map(|config| &config.subjects).collect();
    assert_eq!(subjects.len(), configs.len());
    assert!(configs.iter().all(|config| config.num_replicas == 3), "one that has fewer goes with its node");
    assert_eq!(
        options(16).stream_names(),
        configs.iter().map(|config| config.name.clone()).collect::<Vec<_>>()
    );
}

#[test]
fn a_table_holds_one_message_for_each_row_and_tombstones_expire() {
    let logs = [JOURNAL, CLOUD_EVENTS];
    for config in options(2).configs().into_iter().filter(|config| !logs.contains(&&*config.name)) {
        assert_eq!((config.max_messages_per_subject, config.allow_message_ttl), (1, true), "{}", config.name);
        assert!(config.allow_atomic_publish && config.first_sequence > Some(1_700_000_000_000_000));
        // Only bodies that nobody names and problems go by themselves: rows are there until they are replaced.
        let expected = match config.name.as_str() {
            "KV_content" => Duration::from_secs(3600),
            "KV_problems" => PROBLEM_AGE,
            _ => Duration::ZERO,
        };
        assert_eq!(config.max_age, expected, "{}", config.name);
    }
}

#[test]
fn cloud_events_are_kept_for_agents_that_are_away_and_not_for_ever() {
    let configs = options(2).configs();
    let config = configs.iter().find(|config| config.name == CLOUD_EVENTS).expect("there is one");
    assert!(config.max_messages_per_subject < 0, "one subject has many different events");
    assert!(config.max_age > Duration::from_secs(3600) && config.max_bytes > 0 && !config.no_ack);
    assert!(config.first_sequence > Some(1_700_000_000_000_000), "after a wipe they go on");
}

#[test]
fn a_stream_of_something_else_is_told_by_the_field_in_which_it_differs() {
    let wanted = table_config("A".into(), vec!["a.>".into()], &options(1));
    let with = |change: fn(&mut Config)| {
        let mut found = wanted.clone();
        change(&mut found);
        difference(&found, &wanted)
    };
    assert_eq!(with(|_| ()), None);
    assert_eq!(with(|found| found.max_messages_per_subject = -1), Some("max_msgs_per_subject"));
    assert_eq!(with(|found| found.allow_message_ttl = false), Some("allow_msg_ttl"));
    assert_eq!(with(|found| found.subjects.push("b.>".into())), Some("subjects"));
    assert_eq!(with(|found| found.retention = RetentionPolicy::WorkQueue), Some("retention"));
    assert_eq!(with(|found| found.first_sequence = None), None, "each life of a stream has its own");
    assert_eq!(with(|found| found.num_replicas = 1), None, "it may be scaled");
}

#[test]
fn old_servers_are_refused_with_a_reason() {
    assert!(
        check_version("2.15.1").is_ok()
            && check_version("2.12.0-RC.1").is_ok()
            && check_version("3.0.0").is_ok()
    );
    let error = check_version("2.9.10").expect_err("too old").to_string();
    assert!(error.contains("2.9.10 is too old") && error.contains("2.12"));
    assert!(check_version("").is_err());
}

fn config(name: &str) -> Config {
    options(2).configs().into_iter().find(|config| config.name == name).expect("a stream of the layout")
}

#[test]
fn the_settings_come_first_since_they_say_how_the_rest_is() {
    let names = options(2).stream_names();
    assert_eq!(names[..4], ["KV_sluice", "KV_interest", "KV_problems", "KV_content"]);
    assert_eq!(names[4..6], ["CHANGES-00", "CHANGES-01"]);
}

#[test]
fn a_shard_has_its_own_subjects_and_all_of_status_is_in_one_stream() {
    assert_eq!(config("DESIRED-01").subjects, ["desired.01.>"]);
    assert_eq!(config("STATUS").subjects, ["status.>"]);
}

#[test]
fn nothing_that_is_stored_is_bounded_but_what_may_be_lost() {
    for config in options(2).configs() {
        let is_log = [JOURNAL, CLOUD_EVENTS].contains(&&*config.name);
        assert_eq!(config.max_bytes > 0, is_log, "{}", config.name);
        assert_eq!(config.storage, StorageType::File, "{}", config.name);
        assert_eq!(config.retention, RetentionPolicy::Limits, "{}", config.name);
    }
}

#[test]
fn nobody_waits_for_the_journal() {
    let journal = config(JOURNAL);
    assert!(journal.no_ack && !journal.allow_atomic_publish);
    assert_eq!(journal.max_age, Duration::from_secs(24 * 3600));
}

#[test]
fn nobody_deletes_what_is_in_a_bucket_and_only_the_end_of_a_problem_is_told_by_the_server() {
    for bucket in BUCKETS {
        let config = config(&format!("KV_{bucket}"));
        assert!(config.deny_delete, "{bucket}");
        assert_eq!(config.discard, DiscardPolicy::New, "{bucket}");
        assert_eq!(config.subject_delete_marker_ttl.is_some(), bucket == PROBLEMS, "{bucket}");
    }
}

#[test]
fn a_version_counts_by_its_first_two_numbers() {
    for good in ["2.12", "2.12.0", "2.100.0", "10.0.0", "2.12-beta.3"] {
        assert!(check_version(good).is_ok(), "{good}");
    }
    for bad in ["2", "2.11.99", "1.99.0", "v2.12.0", "two", "2.x.99"] {
        assert!(check_version(bad).is_err(), "{bad}");
    }
}

#[test]
fn whether_a_bus_is_sealed_is_a_number_above_none() {
    // A setting of 0 counts as damaged: neither answer may be that.
    let [sealed, plain] = [true, false].map(seal_setting);
    assert!(sealed > 0 && plain > 0 && sealed != plain);
}

#[test]
fn a_name_in_use_is_no_failure_and_everything_else_is() {
    let kind = |code: u64| {
        let error = serde_json::json!({"code": 400, "err_code": code, "description": "no"});
        CreateStreamErrorKind::JetStream(serde_json::from_value(error).expect("an error of the server"))
    };
    assert!(is_name_in_use(&kind(10058)));
    assert!(!is_name_in_use(&kind(10074)), "more replicas than servers");
    assert!(!is_name_in_use(&CreateStreamErrorKind::TimedOut));
}

#[test]
fn bodies_live_as_long_as_the_bucket_says_and_nobody_guesses_while_it_does_not_answer() {
    let wanted = config("KV_content");
    let error = age_of_bodies(&Streams::default(), &wanted).expect_err("no leader").to_string();
    assert!(error.contains("how long stream KV_content keeps bodies"), "{error}");
}
