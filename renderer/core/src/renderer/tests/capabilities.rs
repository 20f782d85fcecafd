//! Charts and what their destinations can do.

use sluice_chart::Capabilities;

use super::charts::{loaded, profile};
use super::*;

/// A chart that says what it is rendered for, and draws a value.
const OF_CLUSTER: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n\
    data:\n  names: '{{ .Capabilities.KubeVersion }}'\n  \
    mark: '{{ .Capabilities.APIVersions.Has \"example.com/v1/Thing\" }}'\n  drawn: '{{ randAlphaNum 9 }}'\n";

fn known(version: &str, more: &[&str]) -> Arc<ClusterCapabilities> {
    let all = more.iter().map(|one| (*one).to_owned()).collect();
    Arc::new(ClusterCapabilities::of(Capabilities::of_cluster(version, ("1", "33"), all).unwrap()))
}

fn say(fixture: &mut Fixture, of: &str, known: &Arc<ClusterCapabilities>) {
    let said = ExternalInput::Capabilities(cluster(of), Some(known.clone()));
    fixture.run(|renderer, step| renderer.external(said, step));
}

/// The first of its clusters can do this.
fn fixture(template: &str, first: &Arc<ClusterCapabilities>) -> Fixture {
    let mut fixture = Fixture::unknowing(vec![profile(json!({}))]);
    let text = fixture.problems.values().next().unwrap();
    let says = "charts wait until the agents of sveltos:default/a, sveltos:default/b have said";
    assert!(text.starts_with(says) && fixture.rows.is_empty(), "{text}");
    assert_eq!(fixture.take_log(), ["?a", "?b"], "it wants its name meanwhile");
    say(&mut fixture, "a", first);
    fixture.chart(loaded("1.0.0", &[("templates/a.yaml", template)]));
    fixture
}

fn drawn(fixture: &Fixture, place: &str) -> String {
    sluice_api::object::text(&fixture.objects(place)[0], &["data", "drawn"]).to_owned()
}

#[test]
fn a_cluster_of_which_nothing_is_known_holds_up_no_other_and_loses_nothing() {
    let mut fixture = fixture(OF_CLUSTER, &known("v1.33.1", &[]));
    assert_eq!(fixture.wanted(), ["a v1.33.1 false"]);
    assert!(fixture.problems.values().next().unwrap().contains("the agents of sveltos:default/b have said"));
    assert!(!fixture.renderer.planning.renderings.is_clear());
    say(&mut fixture, "b", &known("v1.33.1", &["example.com/v1/Thing"]));
    assert_eq!(fixture.wanted(), ["a v1.33.1 false", "b v1.33.1 true"]);
    assert!(fixture.problems.is_empty() && fixture.renderer.planning.renderings.is_clear());
}

#[test]
fn what_can_do_the_same_gets_the_same_render_and_only_a_change_makes_another() {
    let first = known("v1.33.1", &["v1"]);
    let mut fixture = fixture(OF_CLUSTER, &first);
    say(&mut fixture, "b", &first);
    assert_eq!(fixture.renderer.rendering.outputs.count(), 2, "it draws a value for each");
    let before = [drawn(&fixture, "a/p"), drawn(&fixture, "b/p")];
    fixture.take_log();
    say(&mut fixture, "a", &known("v1.33.1", &["v1"]));
    assert!(fixture.take_log().is_empty(), "that is not new");
    say(&mut fixture, "a", &known("v1.34.0", &["v1"]));
    assert_eq!(fixture.wanted(), ["a v1.34.0 false", "b v1.33.1 false"]);
    let after = [drawn(&fixture, "a/p"), drawn(&fixture, "b/p")];
    assert_eq!(before, after, "no password changes with a server's version");
}

#[test]
fn a_chart_that_a_cluster_is_too_old_for_is_a_problem_until_it_is_not() {
    let refuses = OF_CLUSTER.replace(
        "apiVersion: v1\n",
        "{{ if semverCompare \"<1.33-0\" .Capabilities.KubeVersion.Version }}{{ fail \"too old\" }}{{ end }}apiVersion: v1\n",
    );
    let mut fixture = fixture(&refuses, &known("v1.30.0", &[]));
    say(&mut fixture, "b", &known("v1.33.0", &[]));
    assert_eq!(fixture.wanted(), ["b v1.33.0 false"]);
    assert!(fixture.problems.values().next().unwrap().contains("too old"));
    say(&mut fixture, "a", &known("v1.33.0", &[]));
    assert_eq!(fixture.wanted(), ["a v1.33.0 false", "b v1.33.0 false"]);
    assert!(fixture.problems.is_empty());
}

#[test]
fn a_row_that_cannot_be_read_says_why() {
    let row = |version: &str| {
        json!({"version": version, "major": "1", "minor": "33", "apiVersions": ["v1"]}).to_string()
    };
    assert_eq!(ClusterCapabilities::of_row(row("v1.33.4").as_bytes()).unwrap(), *known("v1.33.4", &["v1"]));
    assert!(ClusterCapabilities::of_row(row("new").as_bytes()).unwrap_err().contains("invalid kube version"));
    assert!(ClusterCapabilities::of_row(b"[]").is_err());
}
