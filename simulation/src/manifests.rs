//! What people write in the simulation.

use serde_json::{Value, json};
use sluice_api::model::{CheckPoint, DEADLINE, FAILURE_BUDGET};

use crate::management::{Addon, CLUSTERS, SetForm, SetName};
use crate::world::STEP;

mod back;
mod registration;

pub(crate) use back::{SOUND, back_content, back_profile};
pub(crate) use registration::{Registration, registration};

/// How the EventSource selects services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SourceForm {
    /// By the label that makes them events.
    #[default]
    Equal,
    /// The same services, said in another way.
    Different,
    /// The same services, in their namespace only.
    Namespaced,
    /// The same services, by two selectors that both select them.
    Twice,
    /// The same services, parted by two selectors: a service whose label changes goes from one to the other.
    Parted,
    /// The same services, of more, by a script that chooses among all.
    Chosen,
    /// Fewer of them.
    Narrow,
}

impl SourceForm {
    /// The forms that select the same.
    pub(crate) const SAME: [Self; 6] =
        [Self::Equal, Self::Different, Self::Namespaced, Self::Twice, Self::Parted, Self::Chosen];
}

/// The tier of what a trigger makes.
pub(crate) const TRIGGER_TIER: u64 = 100;
const LIB: &str = "lib.projectsveltos.io/v1beta1";

/// Chooses the services with the label.
const CHOOSE: &str = "function evaluate()
    local chosen = {}
    for _, service in ipairs(resources) do
        if service.metadata.labels.event == 'yes' then table.insert(chosen, service) end
    end
    return {resources = chosen}
end";

pub(crate) fn source(form: SourceForm) -> Value {
    let filter =
        |key: &str, operation: &str, value: &str| json!({"key": key, "operation": operation, "value": value});
    let mut filters = vec![match form {
        SourceForm::Different => filter("event", "Different", "no"),
        _ => filter("event", "Equal", "yes"),
    }];
    if matches!(form, SourceForm::Narrow | SourceForm::Parted) {
        filters.push(filter("gold", "Equal", "yes"));
    }
    let mut selector = json!({"group": "", "version": "v1", "kind": "Service", "labelFilters": filters});
    if form == SourceForm::Namespaced {
        selector["namespace"] = "default".into();
    }
    let mut selectors = vec![selector.clone()];
    let second = match form {
        SourceForm::Twice => Some(json!([filter("event", "Different", "no")])),
        SourceForm::Parted => Some(json!([filter("event", "Equal", "yes"), filter("gold", "Equal", "no")])),
        _ => None,
    };
    if let Some(filters) = second {
        selector["labelFilters"] = filters;
        selectors.push(selector);
    }
    let mut spec = json!({"collectResources": true, "resourceSelectors": selectors});
    if form == SourceForm::Chosen {
        spec["resourceSelectors"][0]["labelFilters"] = json!([]);
        spec["aggregatedSelection"] = CHOOSE.into();
    }
    json!({"apiVersion": LIB, "kind": "EventSource", "metadata": {"name": "services"}, "spec": spec})
}

/// An EventSource of CloudEvents.
pub(crate) fn sent_source() -> Value {
    json!({"apiVersion": LIB, "kind": "EventSource", "metadata": {"name": "sent"},
        "spec": {"messagingMatchCriteria": [{"cloudEventType": "^(made|gone)$"}]}})
}

/// A trigger that acts upon them; of type `gone` they delete.
pub(crate) fn sent_trigger() -> Value {
    let action = r#"{{ if eq .CloudEvent.type "gone" }}Delete{{ else }}Create{{ end }}"#;
    let spec = json!({
        "sourceClusterSelector": {"matchLabels": {"env": "fv"}},
        "eventSourceName": "sent",
        "oneForEvent": true,
        "cloudEventAction": action,
        "policyRefs": [content_ref(Addon::Sent.name())],
    });
    json!({"apiVersion": LIB, "kind": "EventTrigger", "metadata": {"name": "sent"}, "spec": spec})
}

fn content_ref(name: &str) -> Value {
    json!({"kind": "ConfigMap", "namespace": "default", "name": name})
}

/// A trigger; with `more` it deploys a second ConfigMap, which its generator makes; with `by_set` the one for each event takes the
/// clusters of a set.
pub(crate) fn trigger(addon: Addon, more: bool, by_set: bool) -> Value {
    let mut refs = vec![content_ref(addon.name())];
    let made = format!("made-{}", cause_template(addon));
    if more {
        refs.push(json!({"kind": "ConfigMap", "namespace": "projectsveltos", "name": made}));
    }
    if addon == Addon::All {
        refs.push(content_ref(both_name(addon)));
    }
    let mut spec =
        json!({"eventSourceName": "services", "oneForEvent": addon == Addon::Each, "policyRefs": refs});
    if by_set && addon == Addon::Each {
        spec["clusterSetRefs"] = json!([SetName::Env.name()]);
    } else {
        spec["sourceClusterSelector"] = json!({"matchLabels": {"env": "fv"}});
    }
    if more {
        let generator = json!({"namespace": "default", "name": more_name(addon), "nameFormat": made});
        spec["configMapGenerator"] = json!([generator]);
    }
    if addon == Addon::All {
        let here =
            json!({"kind": "ConfigMap", "namespace": "default", "name": HERE, "deploymentType": "Local"});
        spec["policyRefs"].as_array_mut().into_iter().for_each(|refs| refs.push(here.clone()));
        let patch = format!("{{{{`{}`}}}}", patch_name("{{ .Cluster.metadata.name }}"));
        spec["patchesFrom"] = json!([content_ref(&patch)]);
        spec["destinationClusterSelector"] = json!({"matchLabels": {"tier": "x"}});
    }
    json!({"apiVersion": LIB, "kind": "EventTrigger", "metadata": {"name": addon.name()}, "spec": spec})
}

/// A trigger that makes a profile of the name, and with the content, of the one that a user wrote; in every cluster of the
/// tier, because of every cluster with an event.
pub(crate) fn rival() -> Value {
    let spec = json!({
        "sourceClusterSelector": {"matchLabels": {"env": "fv"}},
        "destinationClusterSelector": {"matchLabels": {"tier": "x"}},
        "eventSourceName": "services",
        "profileNameFormat": "own",
        "syncMode": DRIFT,
        "maxUpdate": "50%",
        "templateResourceRefs": [thing_ref()],
        "policyRefs": [content_ref("own")],
    });
    json!({"apiVersion": LIB, "kind": "EventTrigger",
        "metadata": {"name": "rival", "annotations": few_at_a_time()}, "spec": spec})
}

/// What the content of the user's profile reads.
fn thing_ref() -> Value {
    json!({"identifier": "thing", "resource":
        {"apiVersion": "example.com/v1", "kind": "Thing", "namespace": "default", "name": "thing"}})
}

/// An object of a kind that nobody watches before a template reads it.
pub(crate) fn thing(size: u64) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"namespace": "default", "name": "thing"},
        "spec": {"size": size.to_string()}})
}

/// A set of clusters.
pub(crate) fn cluster_set(set: SetName, form: SetForm) -> Value {
    let labels = if set == SetName::Env { json!({"env": "fv"}) } else { json!({"tier": "x"}) };
    let named = |clusters: &[&str]| -> Value {
        let one = |name: &&str| json!({"apiVersion": LIB, "kind": "SveltosCluster", "namespace": "default", "name": name});
        clusters.iter().map(one).collect()
    };
    let spec = match form {
        SetForm::Label => json!({"clusterSelector": {"matchLabels": labels}}),
        SetForm::Names => json!({"clusterRefs": named(&CLUSTERS)}),
        SetForm::One => json!({"clusterRefs": named(&CLUSTERS[..1])}),
        SetForm::First => json!({"clusterSelector": {"matchLabels": labels}, "maxReplicas": 1}),
    };
    let mut metadata = json!({"name": set.name()});
    if set == SetName::Team {
        metadata["namespace"] = "default".into();
    }
    json!({"apiVersion": LIB, "kind": set.kind(), "metadata": metadata, "spec": spec})
}

/// The profile of a namespace.
pub(crate) fn team_profile() -> Value {
    let spec = json!({"setRefs": [SetName::Team.name()], "policyRefs": [content_ref(Addon::Team.name())]});
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "Profile",
        "metadata": {"name": "own", "namespace": "default"}, "spec": spec})
}

/// The profile that a user wrote; with `by_set` it goes to the clusters of the set.
pub(crate) fn profile((tier, leave): (u64, bool), once: bool, by_set: bool) -> Value {
    let mode = if once { "OneTime" } else { DRIFT };
    let stop = if leave { "LeavePolicies" } else { "WithdrawPolicies" };
    let mut refs = vec![content_ref("own")];
    // Of equal tiers nobody could say which has it in the end.
    if tier < TRIGGER_TIER {
        refs.push(content_ref(both_name(Addon::Own)));
    }
    let mut spec = json!({"stopMatchingBehavior": stop, "syncMode": mode, "tier": tier, "policyRefs": refs, "dependsOn": [BASE],
        "templateResourceRefs": [thing_ref()]});
    for point in CheckPoint::ALL {
        spec[point.field()] =
            json!([{"name": "well", "featureID": "Resources", "version": "v1", "kind": "Pod"}]);
    }
    if by_set {
        spec["setRefs"] = json!([SetName::Tier.name()]);
    } else {
        spec["clusterSelector"] = json!({"matchLabels": {"tier": "x"}});
    }
    spec["maxUpdate"] = 1.into();
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
        "metadata": {"name": "own", "annotations": few_at_a_time()}, "spec": spec})
}

/// What goes to one cluster after the other may fail on each, so that it comes to all of them.
fn few_at_a_time() -> Value {
    json!({FAILURE_BUDGET: "100%", DEADLINE: format!("{}ms", DEADLINE_OF_ROLLOUTS / 1_000)})
}

/// How long one cluster waits for another of which nobody says anything, microseconds.
pub(crate) const DEADLINE_OF_ROLLOUTS: i64 = 200 * STEP;

/// What somebody else changes is put right.
const DRIFT: &str = "ContinuousWithDriftDetection";

/// What the user's profile depends on, and its profile, which selects nothing itself.
pub(crate) const BASE: &str = "base";

/// The profile that goes where the user's profile goes; in a circle it depends on that one.
pub(crate) fn base_profile(in_circle: bool) -> Value {
    let needs: &[&str] = if in_circle { &[Addon::Own.name()] } else { &[] };
    let spec = json!({"policyRefs": [content_ref(BASE)], "dependsOn": needs});
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": BASE}, "spec": spec})
}

/// The ConfigMap that it deploys.
pub(crate) fn base_content() -> Value {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: default, name: base}\ndata: {of: base}\n";
    config_map(BASE, text, false)
}

/// Who takes over from the user's profile, and goes to other clusters.
const NEXT: &str = "next";

/// The profile after which the user's profile goes, where both are for a cluster. It reads what that one reads: when this changes, both
/// begin to go from cluster to cluster in one step.
pub(crate) fn next_profile() -> Value {
    let spec = json!({"clusterSelector": {"matchLabels": {"env": "fv"}}, "transitionFrom": ["own"], "policyRefs": [content_ref(NEXT)],
        "templateResourceRefs": [thing_ref()], "maxUpdate": 1});
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
        "metadata": {"name": NEXT, "annotations": few_at_a_time()}, "spec": spec})
}

/// The ConfigMap that it deploys.
pub(crate) fn next_content() -> Value {
    let size = r#"{{ getField "thing" "spec.size" }}"#;
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: default, name: next}}\ndata: {{of: next, size: \"{size}\"}}\n"
    );
    let mut object = config_map(NEXT, &text, false);
    object["metadata"]["annotations"] = json!({"projectsveltos.io/template": "ok"});
    object
}

/// Nothing of the profile changes any more.
pub(crate) fn pause(profile: &mut Value) {
    profile["metadata"]["annotations"]["profile.projectsveltos.io/paused"] = "yes".into();
}

/// The ConfigMap that an add-on is made of.
pub(crate) fn content(addon: Addon, edit: u64) -> Value {
    let head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {namespace: default, name: ";
    let text = match addon {
        Addon::Each => format!(
            "{head}\"each-{{{{ .Resource.metadata.name }}}}\"}}\ndata: {{v: \"{{{{ .Resource.metadata.annotations.v }}}}\", edit: \"{edit}\"}}\n"
        ),
        Addon::All => format!(
            "{head}\"all-{{{{ .Cluster.metadata.name }}}}\"}}\ndata:\n  edit: \"{edit}\"\n{{{{- range .Resources }}}}\n  {{{{ .metadata.name }}}}: \"{{{{ .metadata.annotations.v }}}}\"\n{{{{- end }}}}\n"
        ),
        Addon::Sent => format!(
            "{head}\"sent-{{{{ .CloudEvent.subject }}}}\"}}\ndata: {{v: \"{{{{ .CloudEvent.id }}}}\", edit: \"{edit}\"}}\n"
        ),
        Addon::Team | Addon::Back => format!("{head}{}}}\ndata: {{edit: \"{edit}\"}}\n", addon.name()),
        Addon::Own => {
            let size = r#"{{ getField "thing" "spec.size" }}"#;
            format!("{head}own}}\ndata: {{edit: \"{edit}\", size: \"{size}\"}}\n")
        }
    };
    let mut object = config_map(addon.name(), &text, !matches!(addon, Addon::Own | Addon::Team));
    if addon == Addon::Own {
        object["metadata"]["annotations"] = json!({"projectsveltos.io/template": "ok"});
    }
    object
}

/// What a generator makes a ConfigMap of.
pub(crate) fn more_name(addon: Addon) -> &'static str {
    if addon == Addon::Each { "more-each" } else { "more-all" }
}

fn both_name(addon: Addon) -> &'static str {
    if addon == Addon::All { "both-all" } else { "both-own" }
}

/// What two add-ons make differently under one name, and what all profiles of a trigger make equally.
pub(crate) fn both(addon: Addon, edit: u64) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: default, name: both}}\ndata: {{of: {}, edit: \"{edit}\"}}\n",
        addon.name()
    );
    config_map(both_name(addon), &text, false)
}

/// The content that is for the management cluster.
const HERE: &str = "here-all";

/// What is made in the management cluster because of each source and destination, and of each source.
pub(crate) fn here(edit: u64) -> Value {
    let there = "{{`{{ .Cluster.metadata.name }}`}}";
    let of_both = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: default, name: \"here-{{{{ .Cluster.metadata.name }}}}-{there}\"}}\ndata:\n  \
         edit: \"{edit}\"\n{{{{- range .Resources }}}}\n  {{{{ .metadata.name }}}}: \"{{{{ .metadata.annotations.v }}}}\"\n{{{{- end }}}}\n"
    );
    let of_source = format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: default, name: \"share-{{{{ .Cluster.metadata.name }}}}\"}}\n\
         data: {{edit: \"{edit}\"}}\n"
    );
    let mut object = config_map(HERE, &format!("{of_both}{of_source}"), true);
    object["metadata"]["annotations"]["projectsveltos.io/template"] = "ok".into();
    object
}

/// What the patch for a destination is called.
pub(crate) fn patch_name(cluster: &str) -> String {
    format!("patch-{cluster}")
}

/// A label on everything that goes to a destination, or that is made because of it.
pub(crate) fn patch(cluster: &str) -> Value {
    config_map(&patch_name(cluster), "patch: |\n  metadata: {labels: {patched: \"yes\"}}\n", false)
}

/// What the generator of a trigger makes a second ConfigMap of.
pub(crate) fn more(addon: Addon, edit: u64) -> Value {
    let name = match addon {
        Addon::Each => "more-each-{{ .Resource.metadata.name }}",
        _ => "more-all-{{ .Cluster.metadata.name }}",
    };
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: default, name: \"{name}\"}}\ndata: {{edit: \"{edit}\"}}\n"
    );
    config_map(more_name(addon), &text, false)
}

/// A template that differs for every cause of a trigger.
fn cause_template(addon: Addon) -> &'static str {
    match addon {
        Addon::Each => "each-{{ .Cluster.metadata.name }}-{{ .Resource.metadata.name }}",
        _ => "all-{{ .Cluster.metadata.name }}",
    }
}

fn config_map(name: &str, text: &str, instantiate: bool) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"content.yaml": text}});
    if instantiate {
        object["metadata"]["annotations"] = json!({"projectsveltos.io/instantiate": "ok"});
    }
    object
}
