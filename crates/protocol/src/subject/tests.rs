use proptest::prelude::*;
use sluice_api::Gvk;

use super::*;

fn object(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("apps", "v1", "Deployment"), namespace: String::new(), name: name.into() }
}

#[test]
fn subjects_look_as_documented() {
    let cluster = ClusterRef::sveltos("default", "c.1");
    let change = Subject::Change {
        shard: Shard::new(7),
        cluster: cluster.clone(),
        viewer: String::new(),
        object: object("a.b"),
    };
    assert_eq!(change.to_string(), "changes.07.sveltos:default/c%2E1.-.apps.v1.Deployment.-.a%2Eb");
    let fence = Subject::Owner { table: Table::Reports, shard: Shard::new(1), owner: "03".into() };
    assert_eq!(fence.to_string(), "reports.01.~owner.03");
    let of_agent = Subject::fence(Table::Changes, 2, &cluster.to_string());
    assert_eq!(of_agent.to_string(), "changes.02.sveltos:default/c%2E1.~owner");
    assert_eq!(Subject::fence(Table::Status, 0, "03").to_string(), "status.03.~owner.03");
    let complete = Subject::Complete {
        table: Table::Reports,
        shard: Shard::new(1),
        cluster,
        origin: Some(Shard::new(12)),
    };
    assert_eq!(complete.to_string(), "reports.01.sveltos:default/c%2E1.~complete.12");
    assert_eq!(
        Subject::AllDesired { shard: Shard::new(3), origin: Shard::new(4) }.to_string(),
        "desired.03.~complete.04"
    );
    let here = Subject::Desired {
        shard: Shard::new(2),
        cluster: ClusterRef::management(),
        origin: Shard::new(1),
        profile: ProfileId::cluster("p"),
    };
    assert_eq!(here.to_string(), "desired.02.management.01.p");
}

#[test]
fn rows_of_profiles_are_chosen_by_cluster_profile_or_both() {
    let (cluster, profile) = (ClusterRef::sveltos("default", "c.1"), ProfileId::new("n", "p.1"));
    let row = Subject::Desired {
        shard: Shard::new(2),
        cluster: cluster.clone(),
        origin: Shard::new(1),
        profile: profile.clone(),
    };
    let filter = |cluster, profile, shard| own_rows::of_profiles(Table::Desired, cluster, profile, shard);
    let both = filter(Some(&cluster), Some(&profile), Some(Shard::new(2)));
    assert_eq!(both, row.to_string().replace(".01.", ".*."));
    assert_eq!(filter(Some(&cluster), None, Some(Shard::new(2))), "desired.02.sveltos:default/c%2E1.*.*");
    assert_eq!(filter(None, Some(&profile), None), "desired.*.*.*.n/p%2E1");
}

#[test]
fn reports_of_an_object_are_chosen_whatever_source_they_are_of() {
    let cluster = ClusterRef::sveltos("default", "c.1");
    let report = Subject::Report {
        shard: Shard::new(2),
        cluster: cluster.clone(),
        source: "s".into(),
        origin: Shard::new(7),
        object: object("a.b"),
    };
    let filter = own_rows::of_object(&cluster, &object("a.b"), Shard::new(7), Shard::new(2));
    assert_eq!(filter, report.to_string().replace(".s.", ".*."));
}

#[test]
fn the_channel_of_a_cloud_event_is_what_follows_its_cluster() {
    let subject = cloud_event(&ClusterRef::sveltos("default", "c.1"), "orders.eu");
    assert_eq!(subject, "cloudevents.sveltos:default/c%2E1.orders.eu");
    assert_eq!(channel_of(&subject), Some("orders.eu"));
    assert_eq!(channel_of("cloudevents.c"), None);
    assert_eq!(channel_of("changes.c.orders"), None);
    for text in ["", "a..b", ".a", "a.", "a.*", "a.>", "a b", "a\u{7f}"] {
        assert!(!is_channel(text), "{text:?}");
    }
}

fn any_subject() -> impl Strategy<Value = Subject> {
    let text = "[a-z.*>~% -]{0,8}";
    let name = "[a-z][a-z.*>~% -]{0,8}";
    (0..120_u16, 0..120_u16, name, text, name, 0..13_usize).prop_map(|(shard, origin, a, b, c, form)| {
        let registered = ClusterRef::sveltos(a.clone(), c.clone());
        let cluster = if origin % 5 == 0 { ClusterRef::management() } else { registered };
        let [shard, origin] = [shard, origin].map(Shard::new);
        let object = ObjectKey {
            gvk: Gvk::new(b.clone(), a.clone(), c.clone()),
            namespace: b.clone(),
            name: c.clone(),
        };
        match form {
            0 => Subject::Change { shard, cluster, viewer: b, object },
            1 => Subject::Report { shard, cluster, source: a, origin, object },
            2 => Subject::Desired { shard, cluster, origin, profile: ProfileId::new(b, c) },
            3 => Subject::Status { shard, cluster, origin, profile: ProfileId::new(b, c) },
            4 => Subject::Owner { table: Table::Desired, shard, owner: a },
            5 => Subject::Owner { table: Table::Changes, shard, owner: a },
            6 => Subject::AllDesired { shard, origin },
            7 => Subject::Owner { table: Table::Status, shard, owner: a },
            8 => Subject::Complete { table: Table::Desired, shard, cluster, origin: Some(origin) },
            9 => Subject::Mark { shard, cluster },
            10 => Subject::Shown { shard, cluster, what: Shown::Report, profile: ProfileId::new(b, c) },
            11 => {
                Subject::Shown { shard, cluster, what: Shown::Configuration, profile: ProfileId::new("", "") }
            }
            _ => Subject::Complete { table: Table::Reports, shard, cluster, origin: Some(origin) },
        }
    })
}

proptest! {
    #[test]
    fn every_subject_is_read_back(subject in any_subject()) {
        prop_assert_eq!(subject.to_string().parse::<Subject>(), Ok(subject));
    }

    #[test]
    fn what_is_read_is_written_the_same(text in any_text()) {
        if let Ok(subject) = text.parse::<Subject>() {
            prop_assert_eq!(subject.to_string(), text);
        }
    }
}

/// Anything, what begins like a subject, and subjects with one part of them replaced.
fn any_text() -> impl Strategy<Value = String> {
    let part = "[.~a-c0-2%:/-]{0,3}|.{0,3}";
    let damaged = (any_subject(), any::<prop::sample::Index>(), any::<prop::sample::Index>(), part);
    prop_oneof![
        any::<String>(),
        "(changes|reports|desired|status)[.~a-z0-9%:/-]{0,40}",
        damaged.prop_map(|(subject, from, to, part)| {
            let mut text = subject.to_string();
            let (from, to) = (from.index(text.len()), to.index(text.len()));
            text.replace_range(from.min(to)..from.max(to).min(from.min(to) + 3), &part);
            text
        }),
    ]
}

#[test]
fn a_row_has_one_subject_only() {
    for text in [
        "changes.007.sveltos:a/b.-.apps.v1.Deployment.-.x",
        "changes.07.sveltos:a/b.-.apps.v1.Deployment.-.%78",
        "changes.07.sveltos:a/b.-.apps.v1.Deployment.-.a%2eb",
        "changes.07.sveltos:a/b.-.apps.v1.Deployment.-.a*",
        "desired.07.sveltos:a/b.00./p",
    ] {
        assert_eq!(text.parse::<Subject>(), Err(NotASubject(text.into())));
    }
}

#[test]
fn shards_are_stable_and_spread() {
    let cluster = ClusterRef::sveltos("default", "c");
    let mut counts = [0; 16];
    for index in 0..1600 {
        counts[change_shard(&cluster, &object(&format!("o{index}")), 16).index()] += 1;
    }
    assert!(counts.iter().all(|&count| (50..160).contains(&count)), "{counts:?}");
    assert_eq!(cluster_shard(&cluster, 16), cluster_shard(&cluster, 16));
}

/// One of each form, with the table, the shard and whether it is of a cluster.
fn forms() -> Vec<(Subject, Table, bool)> {
    let cluster = || ClusterRef::sveltos("default", "c");
    let profile = || ProfileId::new("team", "p");
    vec![
        (
            Subject::Change {
                shard: Shard::new(1),
                cluster: cluster(),
                viewer: "a/b".into(),
                object: object("x"),
            },
            Table::Changes,
            true,
        ),
        (
            Subject::Report {
                shard: Shard::new(1),
                cluster: cluster(),
                source: "s".into(),
                origin: Shard::new(2),
                object: object("x"),
            },
            Table::Reports,
            true,
        ),
        (
            Subject::Desired {
                shard: Shard::new(1),
                cluster: cluster(),
                origin: Shard::new(2),
                profile: profile(),
            },
            Table::Desired,
            true,
        ),
        (
            Subject::Status {
                shard: Shard::new(1),
                cluster: cluster(),
                origin: Shard::new(2),
                profile: profile(),
            },
            Table::Status,
            true,
        ),
        (
            Subject::Complete {
                table: Table::Changes,
                shard: Shard::new(1),
                cluster: cluster(),
                origin: None,
            },
            Table::Changes,
            true,
        ),
        (
            Subject::Complete {
                table: Table::Reports,
                shard: Shard::new(1),
                cluster: cluster(),
                origin: Some(Shard::new(2)),
            },
            Table::Reports,
            true,
        ),
        (Subject::AllDesired { shard: Shard::new(1), origin: Shard::new(2) }, Table::Desired, false),
        (
            Subject::Owner { table: Table::Changes, shard: Shard::new(1), owner: "sveltos:a/b".into() },
            Table::Changes,
            false,
        ),
        (
            Subject::Owner { table: Table::Status, shard: Shard::new(1), owner: "01".into() },
            Table::Status,
            false,
        ),
    ]
}

#[test]
fn every_form_is_in_a_table_and_a_shard_and_may_be_of_a_cluster() {
    for (subject, table, of_cluster) in forms() {
        assert_eq!((subject.table(), subject.shard()), (table, Shard::new(1)), "{subject}");
        assert_eq!(subject.cluster().is_some(), of_cluster, "{subject}");
        assert!(subject.to_string().starts_with(&format!("{}.01.", table.name())), "{subject}");
        assert_eq!(subject.to_string().parse(), Ok(subject));
    }
}

#[test]
fn no_two_forms_have_one_text() {
    let texts: std::collections::BTreeSet<String> =
        forms().iter().map(|(subject, ..)| subject.to_string()).collect();
    assert_eq!(texts.len(), forms().len());
}

#[test]
fn what_lacks_a_token_or_has_one_more_is_no_subject() {
    for (subject, ..) in forms() {
        let text = subject.to_string();
        for other in [
            format!("{text}.x"),
            format!("x.{text}"),
            text[..text.rfind('.').unwrap_or(0)].to_owned(),
            text.to_uppercase(),
        ] {
            assert_ne!(other.parse(), Ok(subject.clone()), "{other}");
        }
    }
    for text in [
        "",
        ".",
        "changes",
        "changes.00",
        "changes.00.sveltos:a/b",
        "desired.00.sveltos:a/b.00",
        "reports.00.~complete.00",
    ] {
        assert!(text.parse::<Subject>().is_err(), "{text}");
    }
}

#[test]
fn a_subject_is_of_a_table_a_shard_and_a_cluster_that_there_can_be() {
    for text in [
        "change.00.sveltos:a/b.-.apps.v1.Deployment.-.x",
        "changes.0.sveltos:a/b.-.apps.v1.Deployment.-.x",
        "changes.65536.sveltos:a/b.-.apps.v1.Deployment.-.x",
        "changes.+1.sveltos:a/b.-.apps.v1.Deployment.-.x",
        "changes.00.other:a/b.-.apps.v1.Deployment.-.x",
        "changes.00.a/b.-.apps.v1.Deployment.-.x",
        "status.00.sveltos:a.00.p",
        "status.00.sveltos:a/b.x.p",
    ] {
        let error = text.parse::<Subject>().unwrap_err();
        assert_eq!(error.to_string(), format!("subject {text:?} is not one of the pipeline's"));
    }
}

#[test]
fn only_objects_of_the_core_kind_are_secrets() {
    let secret = |group: &str, kind: &str| {
        let object = ObjectKey { gvk: Gvk::new(group, "v1", kind), namespace: "n".into(), name: "x".into() };
        Subject::Change {
            shard: Shard::FIRST,
            cluster: ClusterRef::management(),
            viewer: String::new(),
            object,
        }
    };
    assert!(secret("", "Secret").is_of_secret());
    assert!(!secret("", "ConfigMap").is_of_secret() && !secret("x.io", "Secret").is_of_secret());
    assert!(forms().iter().all(|(subject, ..)| !subject.is_of_secret()));
}

#[test]
fn status_is_one_stream_and_other_tables_have_one_for_each_shard() {
    assert_eq!(
        [0, 7, 100].map(|shard| Table::Changes.stream(Shard::new(shard))),
        ["CHANGES-00", "CHANGES-07", "CHANGES-100"]
    );
    assert_eq!([0, 7].map(|shard| Table::Status.stream(Shard::new(shard))), ["STATUS", "STATUS"]);
}

#[test]
fn the_fence_rows_of_a_table_are_found_in_its_first_stream() {
    for (table, owner, filter) in [
        (Table::Changes, "sveltos:a/b", "changes.00.*.~owner"),
        (Table::Reports, "03", "reports.00.~owner.*"),
        (Table::Desired, "03", "desired.00.~owner.*"),
        (Table::Status, "03", "status.*.*.*"),
        (Table::Status, "sveltos:a/b", "status.*.*.*"),
    ] {
        assert_eq!(Subject::fences(table), filter);
        let tokens = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let fence = tokens(&Subject::fence(table, 0, owner).to_string());
        let fits = tokens(filter).iter().zip(&fence).all(|(wanted, token)| wanted == "*" || wanted == token);
        assert!(fits && fence.len() == tokens(filter).len(), "{fence:?}");
    }
}

#[test]
fn a_member_is_known_by_where_it_says_that_it_lives() {
    let subject = members_subject("agent-sveltos:a/b.c", Some("pod 1"));
    assert_eq!(subject, "members.agent-sveltos:a/b%2Ec.pod%201");
    assert_eq!(member_of(&subject), Some(("agent-sveltos:a/b.c".into(), "pod 1".into())));
    assert_eq!(group_of_member(&subject), Some("agent-sveltos:a/b.c".into()));
    assert_eq!(members_subject("matcher", None), "members.matcher.*");
    for text in ["members.a", "member.a.b", "members.a.b.c", "members.*.b", "members..b", "members.a.%2e"] {
        assert_eq!(member_of(text), None, "{text}");
    }
}

#[test]
fn shards_are_less_than_their_number_and_without_any_there_is_the_first() {
    let cluster = ClusterRef::sveltos("default", "c");
    for shards in [1, 2, 7, 64] {
        assert!(
            cluster_shard(&cluster, shards).get() < shards
                && change_shard(&cluster, &object("x"), shards).get() < shards
        );
    }
    assert_eq!((cluster_shard(&cluster, 0), hash_shard(&[], 0)), (Shard::FIRST, Shard::FIRST));
}

#[test]
fn where_a_part_ends_counts_for_its_shard() {
    let shards = |parts: &[&str]| hash_shard(parts, u16::MAX);
    assert_ne!(shards(&["ab", "c"]), shards(&["a", "bc"]));
    assert_ne!(shards(&["a"]), shards(&["a", ""]));
}

#[test]
fn a_change_moves_no_shard_with_the_version_of_its_kind() {
    let cluster = ClusterRef::sveltos("default", "c");
    let of = |version: &str| ObjectKey { gvk: Gvk::new("apps", version, "Deployment"), ..object("x") };
    assert_eq!(change_shard(&cluster, &of("v1"), 4096), change_shard(&cluster, &of("v1beta1"), 4096));
}
