//! Jobs that checks run.

use serde_json::json;

use super::*;

fn check(name: &str) -> Value {
    let reference = json!({"kind": "ConfigMap", "namespace": "default", "name": name});
    json!({"validateHealths": [{"name": "smoke", "featureID": "Resources", "jobCheck": {"jobRef": reference}}]})
}

fn profile(name: &str) -> Value {
    let mut spec = json!({"clusterSelector": {"matchLabels": {"env": "fv"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]});
    spec.as_object_mut().unwrap().extend(check(name).as_object().unwrap().clone());
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec})
}

fn plain() -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"},
        "data": {"a": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {names: some, mark: \"1\"}\n"}})
}

fn text(image: &str) -> String {
    format!(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: smoke}}\nspec: {{template: {{spec: {{containers: [{{name: c, image: \"{image}\"}}]}}}}}}\n"
    )
}

fn job(data: Value) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "smoke"}, "data": data})
}

impl Fixture {
    fn said(&self) -> String {
        self.problems.values().next().cloned().unwrap_or_default()
    }

    /// The images of all Jobs, by cluster.
    fn images(&self) -> Vec<String> {
        let jobs = self.rows.iter().flat_map(|(place, desired)| {
            let jobs = desired.iter().flat_map(|desired| &desired.jobs);
            jobs.map(move |job| {
                let image = &job["spec"]["template"]["spec"]["containers"][0]["image"];
                format!("{} {}", place.split('/').next().unwrap(), image.as_str().unwrap())
            })
        });
        jobs.collect()
    }
}

#[test]
fn the_job_of_a_check_goes_with_the_row_and_follows_its_object() {
    let mut fixture = Fixture::new(vec![profile("smoke"), plain(), job(json!({"job.yaml": text("one")}))]);
    assert_eq!((fixture.images(), fixture.wanted()), (vec!["a one".to_owned()], vec!["a some 1".to_owned()]));
    fixture.put(job(json!({"job.yaml": text("two")})));
    assert_eq!(fixture.images(), ["a two"]);
    let mut template = job(json!({"job.yaml": text("{{ .Cluster.metadata.name }}")}));
    template["metadata"]["annotations"] = json!({"projectsveltos.io/template": "ok"});
    fixture.put(template);
    assert_eq!(fixture.images(), ["a a"]);
}

#[test]
fn what_is_no_job_is_told_of_and_what_is_there_stays() {
    let mut fixture = Fixture::new(vec![profile("smoke"), plain(), job(json!({"job.yaml": text("one")}))]);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n";
    let without = text("x").replace("{name: c, image: \"x\"}", "");
    for (data, said) in [
        (json!({"a": text("two"), "b": text("two")}), "must have one key"),
        (json!({}), "must have one key"),
        (json!({"a": format!("{}---\n{}", text("two"), text("two"))}), "must hold one Job and nothing else"),
        (json!({"a": pod}), "is no Job of batch/v1"),
        (json!({"a": without}), "spec.template.spec.containers must name at least one container"),
        (json!({"a": text(&"x".repeat(70_000))}), "is larger than 64 KiB"),
    ] {
        fixture.put(job(data));
        let problem = fixture.said();
        assert!(problem.contains("ConfigMap default/smoke") && problem.contains(said), "{said}: {problem}");
        assert_eq!(fixture.images(), ["a one"]);
    }
    fixture.put(profile("other"));
    assert!(fixture.said().contains("ConfigMap default/other does not exist"), "{}", fixture.said());
    fixture.put(profile("smoke"));
    fixture.put(job(json!({"job.yaml": text("two")})));
    assert_eq!((fixture.images(), fixture.problems.len()), (vec!["a two".to_owned()], 0));
}

#[test]
fn checks_of_triggers_have_jobs_too() {
    let job = job(json!({"job.yaml": text("one")}));
    let mut fixture = Fixture::new(vec![trigger(true, check("smoke")), content(true, "1"), job]);
    fixture.ready(&["x"]);
    assert_eq!((fixture.images(), fixture.wanted()), (vec!["a one".to_owned()], vec!["a x 1".to_owned()]));
}
