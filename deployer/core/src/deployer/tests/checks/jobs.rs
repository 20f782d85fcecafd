//! Jobs that checks run.

use super::*;

/// A profile with one ConfigMap of this text, and with a check of this list that runs a Job.
fn asking(list: &str, text: &str) -> Desired {
    let mut row = desired("p", 100, vec![config_map("plain", text)]);
    let reference = json!({"kind": "ConfigMap", "namespace": "n", "name": "j"});
    let check = json!({"name": "smoke", "featureID": "Resources", "jobCheck": {"jobRef": reference, "timeout": "2m"}});
    row.spec.insert(list.to_owned(), json!([check]));
    let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "smoke"}, "spec": {"template": template}});
    row.jobs = vec![Arc::new(job)];
    row
}

impl Fixture {
    /// Names of the Jobs of checks that are asked.
    fn jobs(&self) -> Vec<String> {
        let jobs = self.asked.values().filter_map(|(check, _)| check.job.as_ref());
        jobs.map(|check| object::name(check.job.as_ref().unwrap()).to_owned()).collect()
    }
}

#[test]
fn a_job_is_waited_for_as_long_as_it_may_run() {
    let mut fixture = Fixture::saying(&[]);
    fixture.row("p", Some(asking("preDeployChecks", "1")));
    fixture.after(100);
    let waits = "spec.preDeployChecks[0] \"smoke\": the Job of ConfigMap n/j has not ended yet";
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Provisioning), vec![waits.to_owned()]));
    assert!(fixture.names().is_empty());
    fixture.after(90);
    assert_eq!(fixture.state("p"), Some(State::Failed), "its cluster does not end it");
    fixture.say("smoke", Ok(()));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["plain"], Some(State::Provisioned)));
}

#[test]
fn a_job_that_fails_is_an_error_long_before_it_would_have_to_end() {
    let mut fixture = Fixture::saying(&[]);
    fixture.row("p", Some(asking("validateHealths", "1")));
    fixture.after(30);
    fixture.say("smoke", no());
    fixture.after(4);
    assert_eq!(fixture.state("p"), Some(State::Provisioning));
    fixture.after(8);
    assert_eq!((fixture.state("p"), fixture.told()), (Some(State::Failed), vec!["not yet".to_owned()]));
}

#[test]
fn another_content_is_another_run() {
    let mut fixture = Fixture::saying(&[]);
    fixture.row("p", Some(asking("validateHealths", "1")));
    let first = fixture.jobs();
    fixture.row("p", Some(asking("validateHealths", "1")));
    assert_eq!(fixture.jobs(), first);
    fixture.row("p", Some(asking("validateHealths", "2")));
    assert_eq!(fixture.jobs().len(), 1);
    assert_ne!(fixture.jobs(), first);
}

#[test]
fn a_job_before_a_removal_is_the_same_for_the_next_owner() {
    let mut fixture = Fixture::saying(&[]);
    fixture.row("p", Some(asking("preDeleteChecks", "1")));
    fixture.row("p", None);
    let first = fixture.jobs();
    assert_eq!((first.len(), fixture.names()), (1, vec!["plain"]));
    fixture.restart();
    fixture.row("p", None);
    fixture.pass_former_calls();
    assert_eq!(fixture.jobs(), first);
    fixture.say("smoke", Ok(()));
    assert!(fixture.names().is_empty() && fixture.asked.is_empty());
    // The profile comes back, and goes again.
    fixture.row("p", Some(asking("preDeleteChecks", "1")));
    fixture.row("p", None);
    assert_ne!(fixture.jobs(), first, "what was run for another removal says nothing of this one");
}
