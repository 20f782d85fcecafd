//! The order of the phases.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use sluice_bus::BareForm;

use crate::args::Plan;
use crate::bus_path;
use crate::figures::Figures;
use crate::floor::floor;
use crate::measure::{Deaths, Lab, Phase, settled};
use crate::report::{Burst, Filled, Limit, Report};
use crate::scale::scale;
use sluice_testbed::manifests::{ALL, EACH};

/// Between two tries of the floor: long enough that the machine is idle before each.
const FLOOR_PAUSE: Duration = Duration::from_millis(200);

/// Measures everything, prints it, and fails when an event had no effect.
///
/// # Errors
/// When something cannot be started, or events were lost; the logs are kept then.
pub async fn run(plan: Plan) -> anyhow::Result<()> {
    let dir = tempfile::Builder::new().prefix("sluice-load-").tempdir()?;
    let measured = match Box::pin(measure(&plan, dir.path())).await {
        Ok(report) => {
            println!("{report}");
            write_figures(&plan, &report).and_then(|()| report.check())
        }
        Err(error) => Err(error),
    };
    measured.map_err(|error| error.context(format!("the logs are in {}", dir.keep().display())))
}

async fn measure(plan: &Plan, dir: &Path) -> anyhow::Result<Report> {
    if let Some(sizes) = &plan.scale {
        return Box::pin(scale(plan, sizes, dir)).await;
    }
    let (clusters, nodes, limits) = (plan.clusters, plan.nodes, limits(plan, dir).await?);
    let mut report = Report { clusters, nodes, limits, ..Report::default() };
    if plan.only.iter().all(|name| name == "bare") && !plan.only.is_empty() {
        return Ok(report);
    }
    say("the pipeline comes up");
    let stack_dir = dir.join("stack");
    std::fs::create_dir_all(&stack_dir)?;
    let mut lab = Lab::start(&stack_dir, plan).await?;
    lab.warm_up().await?;
    Box::pin(idle(plan, dir, &mut lab, &mut report)).await?;
    for &rate in &plan.rates {
        let name = format!("rate{rate}");
        if plan.wants(&name) {
            say(&format!("{rate} events/s"));
            report.paced.push(lab.paced(&name, rate, plan.phase).await?);
        }
    }
    if plan.wants("memory") {
        say(&format!("memory with {} add-ons more", plan.fill));
        report.filled = Some(fill(plan, &mut lab, &mut report.paced).await?);
    }
    report.bursts = bursts(plan, &mut lab).await?;
    if plan.wants("flood") {
        say("a flood");
        report.flood = Some(lab.flood("flood", plan.flood as usize).await?);
    }
    if let Some(&rate) = plan.rates.first().filter(|_| plan.wants("later")) {
        // What an event costs must not depend on how much is there already.
        say(&format!("{rate} events/s beside everything that is there by now"));
        report.paced.push(lab.paced(&format!("later{rate}"), rate, plan.phase).await?);
    }
    report.deaths = deaths(plan, &mut lab).await?;
    // Their trigger and profiles would count in what comes before.
    Box::pin(profiles(plan, &mut lab, &mut report)).await?;
    // Last: nothing else works afterwards.
    if plan.wants("matcher") {
        say("the matcher alone");
        report.matcher = Some(bus_path::matcher_alone(&mut lab).await?);
    }
    Ok(report)
}

/// What goes to all clusters, and what becomes of it there.
async fn profiles(plan: &Plan, lab: &mut Lab, report: &mut Report) -> anyhow::Result<()> {
    if plan.wants("everywhere-event") {
        say("events whose add-ons go to all clusters");
        report.everywhere.push(lab.event_everywhere(plan.pause).await?);
    }
    if plan.wants("everywhere-chart") {
        say(&format!("charts of {} objects for all clusters", plan.chart_objects));
        report.everywhere.push(lab.chart_everywhere(plan.chart_objects, plan.pause).await?);
    }
    if let Some(&rate) = plan.rates.first().filter(|_| plan.wants("beside-ill")) {
        say(&format!("{rate} events/s beside clusters that are ill"));
        report.paced.extend(lab.beside_ill(rate, plan.phase, plan.settle).await?);
    }
    if plan.wants("drift") {
        say(&format!("{} objects of each cluster, watched for drift", plan.chart_objects));
        report.drift = Some(lab.drift(plan.chart_objects, plan.settle).await?);
    }
    Ok(())
}

/// The floor of one event, events one at a time, and memory at rest.
async fn idle(plan: &Plan, dir: &Path, lab: &mut Lab, report: &mut Report) -> anyhow::Result<()> {
    if plan.wants("floor") {
        say("the floor of one event");
        let place = dir.join("floor");
        std::fs::create_dir_all(&place)?;
        let tries = (plan.idle, plan.pause.min(FLOOR_PAUSE));
        report.floor = Some(floor(&place, plan.nodes, lab.target()?, tries).await?);
    }
    if plan.wants("idle") {
        say("idle");
        report.paced.push(lab.idle(plan.idle, plan.pause).await?);
    }
    report.idle_memory = settled(&lab.stack, plan.settle).await;
    Ok(())
}

fn write_figures(plan: &Plan, report: &Report) -> anyhow::Result<()> {
    let Some(path) = &plan.figures else { return Ok(()) };
    let text = Figures::of(report).to_json()?;
    std::fs::write(path, text).with_context(|| format!("cannot write --figures {}", path.display()))
}

/// As many add-ons as are worth measuring their memory.
async fn fill(plan: &Plan, lab: &mut Lab, paced: &mut Vec<Phase>) -> anyhow::Result<Filled> {
    let before: usize = paced.iter().filter(|phase| phase.name != "idle").map(Phase::applied).sum();
    let phase = lab.flood("fill", plan.fill as usize).await?;
    let add_ons = before + phase.applied();
    paced.push(phase);
    Ok(Filled { add_ons, memory: settled(&lab.stack, plan.settle).await })
}

/// The bare loop in every form that streams with so many copies take.
async fn limits(plan: &Plan, dir: &Path) -> anyhow::Result<Vec<Limit>> {
    let mut limits = Vec::new();
    if !plan.wants("bare") {
        return Ok(limits);
    }
    let forms: &[BareForm] = match plan.nodes {
        1 => &[BareForm::Bare, BareForm::Fenced],
        _ => &[BareForm::Bare, BareForm::Grouped],
    };
    for &form in forms {
        say(&format!("the bare loop, {form:?}"));
        let place = dir.join(format!("{form:?}"));
        std::fs::create_dir_all(&place)?;
        limits.push(Limit { form, rate: bus_path::bare(&place, plan.rows, form, plan.nodes).await? });
    }
    Ok(limits)
}

async fn bursts(plan: &Plan, lab: &mut Lab) -> anyhow::Result<Vec<Burst>> {
    let mut bursts = Vec::new();
    for &size in plan.bursts.iter().filter(|size| plan.wants(&format!("burst{size}"))) {
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

async fn deaths(plan: &Plan, lab: &mut Lab) -> anyhow::Result<Vec<Deaths>> {
    let mut deaths = Vec::new();
    if plan.deaths == 0 {
        return Ok(deaths);
    }
    if plan.nodes > 1 && plan.wants("deaths-nodes") {
        say("nodes of the bus die");
        deaths.push(lab.nodes_die(plan.deaths, plan.away).await?);
    }
    if plan.wants("deaths-replicas") {
        say("replicas of the stages die");
        deaths.extend(lab.replicas_die(plan.deaths.min(3)).await?);
    }
    Ok(deaths)
}

/// Progress goes to standard error; standard output is the report.
pub fn say(what: &str) {
    eprintln!("sluice-loadtest: {what}");
}
