//! Beside a `sluice up` commands of the documents print their tables, and EventReports are there as they are printed.

use std::path::Path;
use std::time::{Duration, Instant};

use sluice_api::{ObjectKey, yaml};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::scenario::{Player, Scenario};
use sluice_e2e::up::Up;
use sluice_testbed::Programs;
use tokio::process::Command;

use super::blocks::{Claim, claims};
use super::printed::report_there_complaint;

/// Clusters that these scenarios need.
const CLUSTERS: usize = 2;
/// How long it may take until what is there is listed.
const TIMEOUT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(200);
/// What `sluice` takes the place of.
const SVELTOSCTL: &str = "sveltosctl";

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_printed_and_event_reports_are_there() {
    let shown: Vec<Claim> =
        claims().into_iter().filter(|claim| claim.is_table() || claim.is_report()).collect();
    let mut scenarios: Vec<&str> = shown.iter().map(|claim| claim.scenario.as_str()).collect();
    scenarios.dedup();
    assert_eq!(scenarios, ["seed-000-02", "seed-001-01", "seed-001-05", "seed-004-01", "seed-004-05"]);
    for scenario in scenarios {
        let of_it: Vec<&Claim> = shown.iter().filter(|claim| claim.scenario == scenario).collect();
        play(scenario, &of_it).await;
    }
}

/// Plays a scenario as far as something is shown, and looks at each after its step.
async fn play(name: &str, shown: &[&Claim]) {
    let dir = tempfile::tempdir().unwrap();
    let scenario = Scenario::load(name).unwrap();
    let arguments = [format!("--clusters={CLUSTERS}"), "--no-examples".to_owned()];
    let up = Up::start(dir.path(), &arguments).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(up.kubeconfig()).unwrap()).await.unwrap();
    let player = Player::new(&scenario, &fleet);
    let last = shown.iter().filter_map(|claim| claim.after).max().unwrap();
    for step in 0..=last {
        let played = player.play_on(step..=step).await;
        assert!(played.is_ok(), "{:#}\n{}", played.unwrap_err(), up.log_end());
        for claim in shown.iter().filter(|claim| claim.after == Some(step)) {
            if claim.is_report() {
                until_reported(claim, player.fleet()).await;
                continue;
            }
            let kubeconfig = dir.path().join("kubeconfig");
            if let Some(member) = player.fleet().members.get(claim.at.as_deref().unwrap()) {
                std::fs::write(&kubeconfig, &member.kubeconfig).unwrap();
            }
            until_printed(claim, &kubeconfig, up.inspect_url()).await;
        }
    }
}

/// Looks until an EventReport is there as it is printed.
async fn until_reported(claim: &Claim, fleet: &Fleet) {
    let printed = yaml::documents(&claim.text()).unwrap().remove(0);
    let key = ObjectKey::of(&printed).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let there = fleet.at(claim.at.as_deref().unwrap()).unwrap().get(&key).await.unwrap();
        let wrong =
            there.map_or(Some("is not there".to_owned()), |there| report_there_complaint(&printed, &there));
        let Some(wrong) = wrong else { return };
        assert!(Instant::now() < deadline, "{}: {key} {wrong}", claim.scenario);
        tokio::time::sleep(LOOK).await;
    }
}

/// Gives a command until it prints its table.
async fn until_printed(table: &Claim, kubeconfig: &Path, server: &str) {
    let text = table.text();
    let (line, wanted) = text.split_once('\n').unwrap();
    let words: Vec<&str> = line.trim_start_matches("$ ").split_whitespace().collect();
    let (program, arguments) = words.split_first().unwrap();
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let mut command = if *program == SVELTOSCTL {
            Command::new(Programs::beside_me().unwrap().find("sluice").unwrap())
        } else {
            Command::new(program)
        };
        command.env("KUBECONFIG", kubeconfig).env("HOME", kubeconfig.parent().unwrap());
        let output = command.env("SLUICE_SERVER", server).args(arguments).output().await;
        let output =
            output.unwrap_or_else(|error| panic!("{program} must be installed for this test: {error}"));
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        let Some(wrong) = complaint(wanted, &String::from_utf8(output.stdout).unwrap()) else { return };
        assert!(Instant::now() < deadline, "{}: {}: {line}: {wrong}", table.scenario, table.file);
        tokio::time::sleep(LOOK).await;
    }
}

/// What is different between two tables, but for what is another one each time.
fn complaint(wanted: &str, printed: &str) -> Option<String> {
    let (wanted, printed) = (plain(wanted), plain(printed));
    (wanted != printed).then(|| format!("{printed:#?}, and not {wanted:#?}"))
}

/// The rows of a table, framed or with white space between the cells, without times, addresses and drawn names.
fn plain(table: &str) -> Vec<Vec<String>> {
    let lines: Vec<&str> = table.lines().filter(|line| !line.trim().is_empty()).collect();
    let rows: Vec<Vec<String>> = lines.into_iter().map(cells).collect();
    let titles = rows.iter().find(|row| row.len() > 1).cloned().unwrap_or_default();
    let plain = |row: Vec<String>| -> Vec<String> {
        let cells = row.into_iter().enumerate();
        cells.map(|(column, cell)| plain_cell(titles.get(column).map(String::as_str), cell)).collect()
    };
    rows.into_iter().map(plain).collect()
}

/// The cells of a line. A line of a frame is one.
fn cells(line: &str) -> Vec<String> {
    if line.starts_with('+') {
        return vec!["+".to_owned()];
    }
    match line.trim_end().strip_prefix('|') {
        Some(framed) => framed.trim_end_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect(),
        None => line.split_whitespace().map(str::to_owned).collect(),
    }
}

fn plain_cell(title: Option<&str>, cell: String) -> String {
    let digits = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0");
    match title {
        Some(title) if title == cell => cell,
        Some("AGE") => "an age".to_owned(),
        Some("CLUSTER-IP") => "an address".to_owned(),
        Some("TIME") => {
            let words: Vec<&str> = cell.split(' ').collect();
            format!("{} of {} words", digits(&words[..words.len().min(2)].join(" ")), words.len())
        }
        Some("PROFILES") => {
            let (named, drawn) = cell.split_at(cell.rfind('-').map_or(0, |dash| dash + 1));
            let is_drawn = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
            if drawn.len() == 20 && drawn.chars().all(is_drawn) { named.to_owned() } else { cell.clone() }
        }
        _ => cell,
    }
}

#[test]
fn tables_differ_in_what_is_not_drawn() {
    let of_kubectl = "NAME  CLUSTER-IP  PORT(S)  AGE\nweb  10.0.0.1  80/TCP  5m\n";
    assert_eq!(complaint(of_kubectl, "NAME CLUSTER-IP PORT(S) AGE\nweb 10.225.1.9 80/TCP 24m"), None);
    for other in ["NAME  CLUSTER-IP  PORT(S)  AGE\nweb  10.0.0.1  81/TCP  5m\n", "NAME  AGE\nweb  5m\n", ""] {
        assert!(complaint(of_kubectl, other).is_some(), "{other}");
    }
    let framed = |name: &str, time: &str, profile: &str| {
        format!(
            "+--+\n| NAME | TIME | PROFILES |\n+--+\n| {name} | {time} | ClusterProfile/{profile} |\n+--+\n"
        )
    };
    let (time, profile) = ("2025-02-28 14:23:08 +0100 CET", "sveltos-lbh9me2lr77gokea2u5u");
    let wanted = framed("a", time, profile);
    let same = framed("a", "2026-11-27 03:00:00 +0000 UTC", "sveltos-00000000000000000000");
    assert_eq!(complaint(&wanted, &same), None);
    for other in [framed("b", time, profile), framed("a", "3 s ago", profile), framed("a", time, "mine")] {
        assert!(complaint(&wanted, &other).is_some(), "{other}");
    }
}
