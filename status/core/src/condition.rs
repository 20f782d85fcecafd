//! What is wrong with the objects that users wrote, said in their own status.
//!
//! Every stage says what it cannot do in the `problems` bucket. Here the rows that concern one object become its
//! condition: the texts already name the field and the remedy.

// D-0608: an agent speaks of its cluster only.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sluice_api::{ClusterKind, ClusterRef, ObjectKey, object};
use sluice_protocol::{About, ProblemRow};

/// The condition that says whether an object does what it says.
pub(crate) const CONDITION: &str = "Ready";
/// The condition that says whether more clusters will have it, or not, without anybody's doing.
pub(crate) const PROGRESSING: &str = "Progressing";
/// Reason of the condition, and the mark by which it is recognised as Sluice's.
pub(crate) const REASON: &str = "Problem";
/// Reason of the condition where nothing is wrong with an EventSource, a set or a cluster.
const WELL: &str = "NoProblem";
/// Reason of the condition where a cluster says that something could not be applied, and no problem is known.
pub(crate) const FAILED: &str = "Failed";
/// The stage that may be in the hands of who owns the cluster.
const AGENT: &str = "agent";
/// A status says no more than this, bytes; the problems bucket has all of it.
pub(crate) const LONGEST: usize = 4096;

/// The object that a problem is about, when it has a status: a user's object, or the registered cluster.
pub(crate) fn concerned(problem: &ProblemRow) -> Option<ObjectKey> {
    let about = problem.about.as_ref()?;
    // Agents tell of their cluster only: whoever owns one has nothing to say of objects that users wrote for all.
    if problem.stage == AGENT && !matches!(about, About::Cluster | About::Kubeconfig) {
        return None;
    }
    let cluster = problem.cluster.parse::<ClusterRef>().ok();
    about.user_object(cluster.as_ref()).filter(has_status)
}

/// Whether objects of this kind have a status that is written here. That of a cluster set is written as a whole by who decides
/// what it selects ([`crate::set_status`]): of two writers each would take away what the other one has said.
pub(crate) fn has_status(key: &ObjectKey) -> bool {
    matches!(
        key.gvk.kind.as_str(),
        "EventSource"
            | "EventTrigger"
            | "EventBasedAddOn"
            | "ClusterProfile"
            | "Profile"
            | "RoleRequest"
            | "SveltosCluster"
    )
}

/// What the condition says when something is wrong.
pub(crate) fn condition(problems: &[&ProblemRow]) -> Option<Value> {
    let first = problems.iter().min_by_key(|problem| problem.since)?;
    Some(wrong(&texts(problems), &timestamp(first.since)))
}

/// The condition that says what is wrong, since then.
pub(crate) fn wrong(text: &str, since: &str) -> Value {
    json!({
        "type": CONDITION,
        "status": "False",
        "reason": REASON,
        "message": clipped(text, LONGEST),
        "lastTransitionTime": since,
    })
}

/// The condition that says that nothing is wrong: since when `before` says so, or from now on.
pub(crate) fn right(text: &str, before: Option<&Value>, now: i64) -> Value {
    let since = before.and_then(own_condition).filter(|one| object::text(one, &["status"]) == "True");
    let since = since.map(|one| object::text(one, &["lastTransitionTime"])).filter(|time| !time.is_empty());
    json!({
        "type": CONDITION,
        "status": "True",
        "reason": WELL,
        "message": text,
        "lastTransitionTime": since.map_or_else(|| timestamp(now), str::to_owned),
    })
}

/// The status of an EventSource or a cluster that these problems are about, where it has said `before`. A cluster that nobody has
/// reached yet says nothing, and one that a user calls down is not said to be well.
pub(crate) fn status(
    key: &ObjectKey,
    problems: &[&ProblemRow],
    version: Option<&str>,
    before: Option<&Value>,
    now: i64,
) -> Value {
    let is_cluster = key.gvk.kind == "SveltosCluster";
    let mut status = Map::new();
    let mut put = |field: &str, value: Value| drop(status.insert(field.to_owned(), value));
    if let Some(version) = version {
        put("version", version.into());
    }
    if let Some(condition) = condition(problems) {
        let text = condition["message"].clone();
        put("conditions", json!([condition]));
        if !is_cluster {
            put("agentFailureMessage", text);
        } else if problems.iter().any(|problem| is_about_health(problem)) {
            // Sets may leave out who is down, and that takes add-ons away: it is for who applies them to say.
            put("connectionStatus", "Down".into());
            put("failureMessage", text);
        } else if version.is_some() && !before.is_some_and(is_called_down) {
            put("connectionStatus", "Healthy".into());
        }
    } else if !is_cluster {
        put("conditions", json!([right("no problem is known", before, now)]));
    } else if version.is_some() {
        put("ready", true.into());
        if !before.is_some_and(is_called_down) {
            put("connectionStatus", "Healthy".into());
            put("conditions", json!([right("its API server is reached", before, now)]));
        }
    }
    status.into()
}

/// Whether a problem says that a cluster is not well or cannot be reached. Agents may be in the hands of who owns the cluster; what a
/// registration says wrong is nothing against its cluster, one that is not ready yet may be well, and a token that cannot be renewed
/// may be good for days.
fn is_about_health(problem: &ProblemRow) -> bool {
    let is_of_another = matches!(problem.about, Some(About::Registration | About::Readiness | About::Token));
    problem.stage != AGENT && !is_of_another
}

/// Whether somebody else says that a cluster is down.
fn is_called_down(status: &Value) -> bool {
    object::text(status, &["connectionStatus"]) == "Down" && !is_judged(status)
}

/// The condition of a status that says whether all is well, by whomever.
pub(crate) fn own_condition(status: &Value) -> Option<&Value> {
    condition_of(status, CONDITION)
}

/// The condition of this type, by whomever.
pub(crate) fn condition_of<'s>(status: &'s Value, kind: &str) -> Option<&'s Value> {
    let conditions = status.get("conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().find(|one| object::text(one, &["type"]) == kind)
}

/// Whether a status has these conditions of another one: those of others count for nothing.
pub(crate) fn has_conditions(status: &Value, wanted: &Value) -> bool {
    let wanted = wanted.get("conditions").and_then(Value::as_array);
    wanted.into_iter().flatten().all(|one| condition_of(status, object::text(one, &["type"])) == Some(one))
}

/// Whether a status says something that was written by [`status`].
pub(crate) fn is_judged(status: &Value) -> bool {
    judgement(status).is_some()
}

/// The condition in a status that [`wrong`] has made.
pub(crate) fn judgement(status: &Value) -> Option<&Value> {
    own_condition(status).filter(|condition| object::text(condition, &["reason"]) == REASON)
}

/// What a status complains about, without how many clusters have it: that changes with each of them, and nobody needs to be told
/// each time.
pub(crate) fn complaint(status: &Value) -> Option<&str> {
    let text = |condition: &'static str, field: &str| {
        condition_of(status, condition).map_or("", |condition| object::text(condition, &[field]))
    };
    if text(CONDITION, "status") != "False" || ![REASON, FAILED].contains(&text(CONDITION, "reason")) {
        return None;
    }
    let message = text(CONDITION, "message");
    let without = message.strip_suffix(text(PROGRESSING, "message"));
    Some(without.and_then(|rest| rest.strip_suffix('\n')).unwrap_or(message))
}

fn texts(problems: &[&ProblemRow]) -> String {
    let mut lines: Vec<String> = problems.iter().map(|problem| line(problem)).collect();
    lines.sort();
    lines.dedup();
    lines.join("\n")
}

/// The text, with what it is about besides the object itself.
pub(crate) fn line(problem: &ProblemRow) -> String {
    let named = || problem.error.strip_prefix(&problem.object)?.strip_prefix(": ");
    match problem.about.as_ref().map(About::besides).unwrap_or_default().as_str() {
        "" => named().unwrap_or(&problem.error).to_owned(),
        besides => format!("{besides}: {}", problem.error),
    }
}

/// A reference to a cluster, as statuses have it.
pub fn reference(cluster: &ClusterRef) -> Value {
    let (version, kind) = match cluster.kind {
        ClusterKind::Sveltos => ("lib.projectsveltos.io/v1beta1", "SveltosCluster"),
        ClusterKind::Capi => ("cluster.x-k8s.io/v1beta2", "Cluster"),
        // It is not registered: this is no object, and says so.
        ClusterKind::Management => return json!({"kind": "Management", "name": cluster.name}),
    };
    json!({"apiVersion": version, "kind": kind, "namespace": cluster.namespace, "name": cluster.name})
}

/// No more of a text than this, bytes.
pub(crate) fn clipped(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    format!("{}…", &text[..text.floor_char_boundary(longest)])
}

/// A time in the form of the API, of microseconds since 1970.
pub fn timestamp(micros: i64) -> String {
    let second = Timestamp::from_second(micros.div_euclid(1_000_000)).unwrap_or(Timestamp::UNIX_EPOCH);
    second.to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::{ProfileId, TriggerId};

    use super::*;

    fn problem(cluster: &str, about: About, error: &str) -> ProblemRow {
        ProblemRow::new("renderer", cluster, about, error, 1_700_000_000_123_456)
    }

    fn source() -> About {
        About::Source("s".into())
    }

    fn status_of(rows: &[ProblemRow]) -> Value {
        status(&concerned(&rows[0]).unwrap(), &rows.iter().collect::<Vec<_>>(), None, None, 0)
    }

    #[test]
    fn a_source_and_a_cluster_say_it_in_the_field_that_sveltos_has_for_it() {
        let rows = [problem("", source(), "no such operation")];
        let source = status_of(&rows);
        assert_eq!(source["agentFailureMessage"], "no such operation");
        let rows = [problem("sveltos:default/a", About::Cluster, "it does not answer")];
        let cluster = status_of(&rows);
        assert_eq!(
            (&cluster["connectionStatus"], &cluster["failureMessage"]),
            (&json!("Down"), &json!("it does not answer"))
        );
        for status in [source, cluster] {
            assert_eq!(status["conditions"][0]["status"], "False");
            assert!(is_judged(&status) && !is_judged(&json!({})));
        }
    }

    #[test]
    fn an_agent_says_nothing_of_what_users_wrote_and_takes_no_cluster_down() {
        let of =
            |about: About| ProblemRow { stage: "agent".into(), ..problem("sveltos:default/a", about, "x") };
        let trigger = About::Trigger(TriggerId::new("EventTrigger", "t"));
        for about in [trigger, About::Profile(ProfileId::cluster("p")), source()] {
            assert_eq!(concerned(&of(about.clone())), None, "{about}");
        }
        let rows = [of(About::Kubeconfig)];
        let key = concerned(&rows[0]).unwrap();
        let said = status(&key, &[&rows[0]], Some("v1.33.0"), None, 0);
        assert_eq!((&said["connectionStatus"], said.get("failureMessage")), (&json!("Healthy"), None));
        assert_eq!(said["conditions"][0]["status"], "False");
    }

    #[test]
    fn a_cluster_api_cluster_has_no_status_of_ours() {
        assert_eq!(concerned(&problem("capi:default/c", About::Kubeconfig, "x")), None);
    }

    #[test]
    fn a_long_text_is_cut_between_two_letters() {
        let rows = [problem("", source(), &format!("x{}", "ü".repeat(4096)))];
        let status = status_of(&rows);
        let text = status["agentFailureMessage"].as_str().unwrap();
        assert!(text.len() <= LONGEST + '…'.len_utf8() && text.ends_with("ü…"), "{}", text.len());
    }

    #[test]
    fn the_oldest_problem_says_since_when_and_equal_texts_are_said_once() {
        let mut rows = [
            problem("sveltos:default/a", source(), "the same"),
            problem("sveltos:default/b", source(), "the same"),
        ];
        rows[1].since -= 3_600_000_000;
        let status = status_of(&rows);
        assert_eq!(status["conditions"][0]["lastTransitionTime"], "2023-11-14T21:13:20Z");
        assert_eq!(status["agentFailureMessage"], "the same");
    }

    #[test]
    fn a_condition_of_somebody_else_is_no_verdict() {
        let with = |kind: &str, reason: &str| json!({"conditions": [{"type": kind, "reason": reason, "status": "False"}]});
        assert!(is_judged(&with("Ready", "Problem")));
        assert!(!is_judged(&with("Ready", "Unhealthy")) && !is_judged(&with("Synced", "Problem")));
    }

    #[test]
    fn where_nothing_is_wrong_an_object_is_ready_since_it_first_was() {
        let key = concerned(&problem("", source(), "x")).unwrap();
        let first = status(&key, &[], None, None, 1_700_000_000_000_000);
        let condition = &first["conditions"][0];
        assert_eq!((&condition["type"], &condition["status"]), (&json!("Ready"), &json!("True")));
        assert_eq!(status(&key, &[], None, Some(&first), 1_800_000_000_000_000), first);
        let wrong = problem("", source(), "x");
        let wrong = status(&key, &[&wrong], None, Some(&first), 0);
        assert_ne!(status(&key, &[], None, Some(&wrong), 1_800_000_000_000_000), first);
    }

    #[test]
    fn a_cluster_is_ready_once_its_agent_has_reached_it_and_not_while_it_is_down() {
        let row = problem("sveltos:default/a", About::Cluster, "it does not answer");
        let key = concerned(&row).unwrap();
        let of = |problems: &[&ProblemRow], version| status(&key, problems, version, None, 0);
        assert_eq!(of(&[], None), json!({}));
        let well = of(&[], Some("v1.33.0"));
        assert_eq!((&well["ready"], &well["connectionStatus"]), (&json!(true), &json!("Healthy")));
        assert_eq!(well["conditions"][0]["status"], "True");
        let down = of(&[&row], Some("v1.33.0"));
        assert_eq!((down.get("ready"), &down["connectionStatus"]), (None, &json!("Down")));
        assert_eq!(down["version"], "v1.33.0");
    }
}
