use super::*;
use crate::Shard;
use crate::subject::{Subject, change_shard, cluster_shard};

/// Whether the bus takes a subject for one that a filter selects.
fn selects(filter: &str, subject: &Subject) -> bool {
    let subject = subject.to_string();
    let (mut wanted, mut tokens) = (filter.split('.'), subject.split('.'));
    loop {
        match (wanted.next(), tokens.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some(part), Some(token)) if part == "*" || part == token => {}
            _ => return false,
        }
    }
}

/// The same for filters in which a shard is to be put in.
fn any_selects(filters: &[String], subject: &Subject) -> bool {
    filters.iter().any(|filter| selects(&filter.replace("{}", &shard_token(subject.shard())), subject))
}

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

fn object(kind: &str, name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("apps", "v1", kind), namespace: "shop".into(), name: name.into() }
}

fn change(cluster: &ClusterRef, viewer: &str, object: ObjectKey) -> Subject {
    Subject::Change {
        shard: change_shard(cluster, &object, 4),
        cluster: cluster.clone(),
        viewer: viewer.into(),
        object,
    }
}

fn report(cluster: &ClusterRef, source: &str, origin: Shard) -> Subject {
    let (cluster, source, object) = (cluster.clone(), source.to_owned(), object("Deployment", "web"));
    Subject::Report { shard: cluster_shard(&cluster, 4), cluster, source, origin, object }
}

fn desired(cluster: &ClusterRef, origin: Shard, profile: ProfileId) -> Subject {
    Subject::Desired { shard: Shard::new(1), cluster: cluster.clone(), origin, profile }
}

fn complete(table: Table, cluster: &ClusterRef, origin: Option<Shard>) -> Subject {
    Subject::Complete { table, shard: Shard::new(3), cluster: cluster.clone(), origin }
}

#[test]
fn an_agent_owns_everything_of_its_cluster_and_nothing_of_others() {
    let (mine, other) = (cluster("c.1"), cluster("c.10"));
    let filters = agent(&mine);
    for subject in [
        change(&mine, "", object("Deployment", "web")),
        change(&mine, "team/deployer", object("Deployment", "web")),
        complete(Table::Changes, &mine, None),
        Subject::fence(Table::Changes, 3, &mine.to_string()),
    ] {
        assert!(any_selects(&filters, &subject), "{subject}");
    }
    for subject in [
        change(&other, "", object("Deployment", "web")),
        complete(Table::Changes, &other, None),
        Subject::fence(Table::Changes, 3, &other.to_string()),
        report(&mine, "s", Shard::new(1)),
    ] {
        assert!(!any_selects(&filters, &subject), "{subject}");
    }
}

#[test]
fn a_matcher_owns_what_came_of_the_changes_of_its_shard() {
    let (one, two) = (cluster("a"), cluster("b"));
    for subject in [
        report(&one, "s", Shard::new(7)),
        report(&two, "t", Shard::new(7)),
        complete(Table::Reports, &one, Some(Shard::new(7))),
    ] {
        assert!(any_selects(&matcher(Shard::new(7)), &subject), "{subject}");
        assert!(!any_selects(&matcher(Shard::FIRST), &subject), "{subject}");
    }
    assert!(
        !any_selects(&matcher(Shard::new(7)), &Subject::fence(Table::Reports, 1, "07")),
        "nobody reads it as a row"
    );
}

#[test]
fn a_renderer_owns_what_it_has_made_in_every_shard() {
    let profile = ProfileId::new("team", "p");
    for subject in [
        desired(&cluster("a"), Shard::new(12), profile.clone()),
        Subject::AllDesired { shard: Shard::new(2), origin: Shard::new(12) },
        complete(Table::Desired, &cluster("a"), Some(Shard::new(12))),
    ] {
        assert!(any_selects(&renderer(Shard::new(12)), &subject), "{subject}");
        assert!(!any_selects(&renderer(Shard::new(1)), &subject), "{subject}");
    }
    assert!(any_selects(
        &renderer(Shard::new(12)),
        &desired(&ClusterRef::management(), Shard::new(12), profile)
    ));
}

#[test]
fn a_deployer_owns_all_of_its_shard() {
    let status = Subject::Status {
        shard: Shard::new(5),
        cluster: cluster("a"),
        origin: Shard::new(1),
        profile: ProfileId::cluster("p"),
    };
    assert!(
        any_selects(&deployer(Shard::new(5)), &status) && !any_selects(&deployer(Shard::new(1)), &status)
    );
}

#[test]
fn the_deployer_in_a_cluster_owns_what_it_says_and_shows_of_it_and_nothing_of_others() {
    let of = |name: &str| {
        let (shard, cluster, profile) = (Shard::new(5), cluster(name), ProfileId::cluster("p"));
        let shown =
            Subject::Shown { shard, cluster: cluster.clone(), what: super::super::Shown::Summary, profile };
        let fence = Subject::fence(Table::Status, 0, &cluster.to_string());
        let (origin, profile) = (Shard::new(1), ProfileId::cluster("p"));
        [Subject::Status { shard, cluster, origin, profile }, shown, fence]
    };
    let filters = deployer_of(&cluster("a"));
    assert!(of("a").iter().all(|subject| any_selects(&filters, subject)));
    assert!(!of("b").iter().any(|subject| any_selects(&filters, subject)));
    let shown = [shown(Shard::new(5))];
    assert!(any_selects(&shown, &of("a")[1]) && !any_selects(&shown, &of("a")[0]));
    let of_profiles = [of_profiles(Table::Status, None, None, None)];
    assert!(any_selects(&of_profiles, &of("a")[0]) && !any_selects(&of_profiles, &of("a")[1]));
}

#[test]
fn the_changes_of_a_cluster_are_those_of_all_viewers() {
    let mine = cluster("a");
    for viewer in ["", "team/deployer"] {
        let change = change(&mine, viewer, object("Deployment", "web"));
        assert!(any_selects(&changes_of(&mine, change.shard()), &change));
        assert!(!any_selects(&changes_of(&cluster("b"), change.shard()), &change));
        assert!(!any_selects(&changes_of(&mine, Shard::new(change.shard().get() + 1)), &change));
    }
}

#[test]
fn the_reports_of_a_source_are_those_of_one_cluster_or_of_all() {
    let (mine, other) = (cluster("a"), cluster("b"));
    let (here, there, another) = (
        report(&mine, "s.1", Shard::FIRST),
        report(&other, "s.1", Shard::FIRST),
        report(&mine, "s", Shard::FIRST),
    );
    assert!(selects(&of_source(&mine, "s.1", here.shard()), &here));
    assert!(!selects(&of_source(&mine, "s.1", there.shard()), &there));
    assert!(!selects(&of_source(&mine, "s.1", another.shard()), &another));
    assert!(selects(&of_source_anywhere("s.1", here.shard()), &here));
    assert!(selects(&of_source_anywhere("s.1", there.shard()), &there));
    assert!(!selects(&of_source_anywhere("s.1", another.shard()), &another));
}

#[test]
fn the_objects_of_a_kind_are_those_that_one_viewer_sees() {
    let (mine, gvk) = (cluster("a"), Gvk::new("apps", "v1", "Deployment"));
    let (own, viewed) = (
        change(&mine, "", object("Deployment", "web")),
        change(&mine, "team/x", object("Deployment", "web")),
    );
    let other = change(&mine, "", object("StatefulSet", "web"));
    for cluster in [Some(&mine), None] {
        assert!(selects(&of_kind(cluster, "", &gvk, own.shard()), &own));
        assert!(!selects(&of_kind(cluster, "", &gvk, viewed.shard()), &viewed));
        assert!(!selects(&of_kind(cluster, "", &gvk, other.shard()), &other));
    }
    assert!(selects(&of_kind(Some(&mine), "team/x", &gvk, viewed.shard()), &viewed));
    for sight in [&own, &viewed] {
        assert!(selects(&sights_of(&mine, &object("Deployment", "web"), sight.shard()), sight));
        assert!(!selects(&sights_of(&mine, &object("Deployment", "other"), sight.shard()), sight));
    }
    assert!(!selects(&of_kind(Some(&cluster("b")), "", &gvk, own.shard()), &own));
}

#[test]
fn objects_are_chosen_by_group_kind_and_namespace_and_what_is_not_given_does_not_restrict() {
    let mine = cluster("a");
    let subject = change(&mine, "team/x", object("Deployment", "web"));
    let chosen = |of: ObjectsOf<'_>| selects(&of_objects(Some(&mine), &of, subject.shard()), &subject);
    let any = ObjectsOf::default();
    assert!(chosen(any) && selects(&of_objects(None, &any, subject.shard()), &subject));
    assert!(chosen(ObjectsOf { group: Some("apps"), kind: Some("Deployment"), namespace: Some("shop") }));
    assert!(!chosen(ObjectsOf { group: Some(""), ..any }), "the core group is one");
    assert!(!chosen(ObjectsOf { kind: Some("Deploy"), ..any }));
    assert!(!chosen(ObjectsOf { namespace: Some(""), ..any }));
}

#[test]
fn the_rows_of_a_cluster_are_not_those_that_writers_keep_for_themselves() {
    let mine = cluster("a");
    let of = |subject: &Subject| selects(&of_cluster(subject.table(), &mine, subject.shard()), subject);
    assert!(
        of(&desired(&mine, Shard::FIRST, ProfileId::cluster("p")))
            && of(&complete(Table::Reports, &mine, Some(Shard::new(1))))
    );
    assert!(
        !of(&Subject::AllDesired { shard: Shard::new(1), origin: Shard::FIRST })
            && !of(&Subject::fence(Table::Desired, 1, "00"))
    );
}

#[test]
fn the_token_of_a_shard_has_two_digits_and_more_where_they_are_needed() {
    assert_eq!(
        [0, 9, 10, 99, 100, u16::MAX].map(|shard| shard_token(Shard::new(shard))),
        ["00", "09", "10", "99", "100", "65535"]
    );
}
