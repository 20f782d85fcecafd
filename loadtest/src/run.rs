//! The order of the phases.

use std::path::Path;

use sluice_bus::BareForm;

use crate::args::Plan;
use crate::bus_path;
use crate::manifests::{ALL, EACH};
use crate::measure::Lab;
use crate::report::{Burst, Report};

/// Measures everything, prints it, and fails when an event had no effect.
///
/// # Errors
/// When something cannot be started, or events were lost; the logs are kept then.
pub async fn run(plan: Plan) -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("sluice-load-").tempdir()?;
    let measured = match measure(&plan, dir.path()).await {
        Ok(report) => {
            println!("{report}");
            report.check()
        }
        Err(error) => Err(error),
    };
    measured.map_err(|error| error.context(format!("the logs are in {}", dir.keep().display())))
}

async fn measure(plan: &Plan, dir: &Path) -> anyhow::Result<Report> {
    let [bare_dir, fenced_dir, stack_dir] = ["bare", "fenced", "stack"].map(|name| dir.join(name));
    for folder in [&bare_dir, &fenced_dir, &stack_dir] {
        std::fs::create_dir_all(folder)?;
    }
    say("the bare loop");
    let bare = bus_path::bare(&bare_dir, plan.rows, BareForm::Bare, plan.nodes).await?;
    let fenced = bus_path::bare(&fenced_dir, plan.rows, BareForm::Fenced, plan.nodes).await?;
    say("the pipeline comes up");
    let mut lab = Lab::start(&stack_dir, plan).await?;
    lab.warm_up().await?;
    say("idle");
    let mut paced = vec![lab.idle(plan.idle, plan.pause).await?];
    let idle_memory = crate::measure::usages(&lab.stack);
    for &rate in &plan.rates {
        say(&format!("{rate} events/s"));
        paced.push(lab.paced(&format!("rate{rate}"), rate, plan.phase).await?);
    }
    let bursts = bursts(plan, &mut lab).await?;
    say("a flood");
    let flood = lab.flood("flood", plan.flood as usize).await?;
    if let Some(&rate) = plan.rates.first() {
        // What an event costs must not depend on how much is there already.
        say(&format!("{rate} events/s beside everything that is there by now"));
        paced.push(lab.paced(&format!("later{rate}"), rate, plan.phase).await?);
    }
    say("the matcher alone");
    let matcher = bus_path::matcher_alone(&mut lab).await?;
    Ok(Report { clusters: plan.clusters, bare, fenced, matcher, idle_memory, paced, bursts, flood })
}

async fn bursts(plan: &Plan, lab: &mut Lab) -> anyhow::Result<Vec<Burst>> {
    let mut bursts = Vec::new();
    for &size in &plan.bursts {
        for (label, form) in [(EACH, "one profile for each"), (ALL, "one profile for all")] {
            say(&format!("{size} Services at once, {form}"));
            // Each burst has a cluster of its own, so that it meets nothing that another one left.
            let phase = lab.burst(size, label, bursts.len()).await?;
            let more = lab.one_more(size, label, bursts.len(), plan.pause).await?;
            bursts.push(Burst { form, phase, more });
        }
    }
    Ok(bursts)
}

/// Progress goes to standard error; standard output is the report.
fn say(what: &str) {
    eprintln!("sluice-loadtest: {what}");
}
