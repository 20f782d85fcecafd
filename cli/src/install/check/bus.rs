//! The bus.

use std::collections::BTreeMap;

use sluice_bus::{BusReport, ServerReport, StreamReport};

use super::facts::Facts;
use super::finding::{Area, Finding};

const AREA: Area = Area { name: "bus", see: "docs/operations/bus.md" };
const STAGES: [&str; 4] = ["agent", "matcher", "renderer", "deployer"];
/// Bytes of the largest message that stages send.
const MESSAGE: usize = 8 << 20;
/// Share of the disk from which on more of it is wanted.
const FULL: u64 = 80;

pub(super) fn judge(facts: &Facts) -> Vec<Finding> {
    let report = match &facts.bus {
        Ok(report) => report,
        Err(why) => {
            let remedy = "check --nats-url and the credentials; inside of a cluster: kubectl port-forward to a node first";
            return vec![AREA.wrong("answers", why, remedy)];
        }
    };
    let mut findings = servers(report);
    findings.extend(streams(report));
    findings.push(store(report));
    findings.push(match report.sealed {
        None => AREA.skip("sealed", "the bus has not been laid out"),
        Some(sealed) => AREA.prefer(
            sealed,
            "sealed",
            if sealed {
                "what Secrets hold is sealed"
            } else {
                "what Secrets hold is in clear on the bus and its disks"
            },
            "sluice bus seal, and --bus-keys on every stage",
        ),
    });
    findings.extend(STAGES.map(|stage| owners(report, stage)));
    findings.extend(report.problems.iter().enumerate().map(|(number, problem)| {
        AREA.wrong(
            &format!("problem.{}", number + 1),
            problem,
            "the text says it; sluice bus check prints all",
        )
    }));
    findings.push(problems(facts.problems.as_ref()));
    findings
}

fn servers(report: &BusReport) -> Vec<Finding> {
    let silent: Vec<&str> =
        report.servers.iter().filter(|server| server.name.is_empty()).map(|server| &*server.url).collect();
    let says = format!("{} servers were named", report.servers.len());
    let mut findings = vec![
        AREA.hold(
            silent.is_empty(),
            "answers",
            answered(report.servers.len(), &silent),
            "start them, or leave them out of --nats-url",
        ),
        AREA.prefer(report.servers.len() != 1, "nodes", says.clone(), "three nodes in production"),
        AREA.hold(report.servers.len() != 2, "quorum", says, "name all: two stop as soon as one is away"),
        AREA.hold(
            report.api_level > 0,
            "jetstream",
            format!("JetStream of API level {}", report.api_level),
            "nats-server 2.12 or newer with jetstream {}",
        ),
    ];
    findings.extend(configured(report));
    findings
}

/// How the servers that answer are configured.
fn configured(report: &BusReport) -> [Finding; 5] {
    let answering: Vec<_> = report.servers.iter().filter(|server| !server.name.is_empty()).collect();
    let mut versions: Vec<&str> = answering.iter().map(|server| &*server.version).collect();
    versions.sort_unstable();
    versions.dedup();
    let says = format!("nats-server {}", versions.join(", "));
    let is_tested = versions.iter().all(|version| version.starts_with("2.15."));
    let least = answering.iter().map(|server| server.max_payload).min().unwrap_or(0);
    let every = |holds: fn(&ServerReport) -> bool| answering.iter().all(|server| holds(server));
    let (asks, encrypts) = (every(|server| server.authenticates), every(|server| server.encrypts));
    let word = |holds: bool| if holds { "all servers" } else { "not all servers" };
    [
        AREA.prefer(versions.len() < 2, "versions", says.clone(), "upgrade the others, one after the other"),
        AREA.prefer(is_tested, "tested", says, "2.15 is what the tests run"),
        AREA.hold(
            least >= MESSAGE,
            "message",
            format!("the largest message has {least} bytes"),
            "max_payload: 8MB in the servers' configuration",
        ),
        AREA.prefer(
            asks,
            "accounts",
            format!("{} ask who connects", word(asks)),
            "sluice install secrets, or sluice nats users, makes accounts",
        ),
        AREA.prefer(encrypts, "tls", format!("{} encrypt", word(encrypts)), "tls:// and --nats-ca"),
    ]
}

fn answered(all: usize, silent: &[&str]) -> String {
    if silent.is_empty() {
        format!("{all} servers answer")
    } else {
        format!("{} do not answer", silent.join(", "))
    }
}

fn streams(report: &BusReport) -> Vec<Finding> {
    let named = |wrong: fn(&StreamReport) -> bool| -> Vec<&str> {
        report.streams.iter().filter(|stream| wrong(stream)).map(|stream| &*stream.name).collect()
    };
    let (leaderless, behind) =
        (named(|stream| stream.leader.is_none()), named(|stream| stream.current < stream.replicas));
    let copies = report.streams.iter().map(|stream| stream.replicas).min().unwrap_or(0);
    let mut leads: BTreeMap<&str, usize> = BTreeMap::new();
    report
        .streams
        .iter()
        .filter_map(|stream| stream.leader.as_deref())
        .for_each(|leader| *leads.entry(leader).or_default() += 1);
    let most = leads.values().max().copied().unwrap_or(0);
    let nodes = report.servers.len().max(1);
    let is_even = nodes == 1 || most * nodes <= report.streams.len() * 2;
    let told = |names: &[&str], well: &str| if names.is_empty() { well.to_owned() } else { names.join(", ") };
    // One server leads everything, and says so of nothing.
    let has_leaders = nodes == 1 || leaderless.is_empty();
    vec![
        AREA.hold(
            !report.streams.is_empty(),
            "streams",
            format!("{} streams", report.streams.len()),
            "start a renderer, which makes them",
        ),
        AREA.hold(
            has_leaders,
            "leaders",
            told(&leaderless, "every stream has a leader"),
            "start the servers that have its copies",
        ),
        AREA.prefer(
            behind.is_empty(),
            "copies",
            told(&behind, "every copy has everything"),
            "wait, or look at the disks of the servers",
        ),
        AREA.prefer(
            copies >= nodes.min(3),
            "replicas",
            format!("{copies} copies of each stream on {nodes} nodes"),
            "sluice bus scale --replicas 3",
        ),
        AREA.prefer(
            is_even,
            "spread",
            format!("the busiest node leads {most} of {} streams", report.streams.len()),
            "sluice bus scale spreads leaders",
        ),
    ]
}

fn store(report: &BusReport) -> Finding {
    let (used, limit) = report.store;
    match limit.filter(|limit| *limit > 0) {
        None => AREA.fine("disk", format!("{used} bytes, without a limit of the account")),
        Some(limit) => AREA.prefer(
            used.saturating_mul(100) / limit < FULL,
            "disk",
            format!("{used} of {limit} bytes"),
            "give the account, or the disk, more; docs/operations/sizing.md says how much",
        ),
    }
}

fn owners(report: &BusReport, stage: &str) -> Finding {
    let check = format!("owners.{stage}");
    let Some(owners) = report.owners.get(stage) else {
        return AREA.skip(&check, "the bus is not as it should be");
    };
    let shards: usize = owners.values().sum();
    let says = format!("{} replicas own {shards} shards", owners.len());
    if owners.is_empty() {
        return AREA.wrong(
            &check,
            format!("nobody owns a shard of the {stage}"),
            "start one; its /readyz says what it waits for",
        );
    }
    AREA.prefer(owners.len() > 1, &check, says, "two replicas: then one may die")
}

fn problems(open: Result<&BTreeMap<String, usize>, &String>) -> Finding {
    match open {
        Err(why) => AREA.skip("problems", why),
        Ok(open) => {
            let count: usize = open.values().sum();
            AREA.prefer(
                count == 0,
                "problems",
                format!("{count} open problems"),
                "sluice problems prints each with its remedy",
            )
        }
    }
}
