//! What `sluice explain` must say once a step has had its effect: what is there is deployed, and what is not has a reason. Of some
//! scenarios also which objects of clusters are events.
//!
//! The objects that must be there follow from the scenario, and what triggers and profiles lead to from `sluice build`. Why
//! something is not there is written down in `explained.txt` of the scenario, a line for each question:
//!
//! ```text
//! 01 default/cluster-1 trigger web: no: events: Service default/web is none: …
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use sluice_api::cloud_event::CloudEvent;
use sluice_api::model::Cluster;
use sluice_api::{ClusterKind, ClusterRef, ObjectKey, object};
use sluice_testbed::Programs;

use super::{Build, Expected, MANAGEMENT, Scenario, State};

/// How long an answer may take to be the right one on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);
/// By then an answer does not change any more.
const SETTLED: Duration = Duration::from_secs(12);
/// Set, answers are written down in place of being compared.
const WRITE: &str = "SLUICE_WRITE_EXPLAINED";

/// In a line about something that is there, and of which nobody can tell.
const THERE: &str = "though it is there: ";

/// Kinds that are asked about by their name, and what they are called in a question.
const CAUSES: [(&str, &str); 4] = [
    ("EventTrigger", "trigger"),
    ("EventBasedAddOn", "trigger"),
    ("ClusterProfile", "profile"),
    ("Profile", "profile"),
];

/// The scenarios in which it is also asked of each object of a cluster, and of each CloudEvent, whether it is an event: one for
/// each way in which an EventSource, or what comes after it, says yes or no.
const WITH_EVENTS: [&str; 10] = [
    "a-network-policy-by-label",
    "b-network-policy-by-lua",
    "h-clusters-come-and-go",
    "tr-being-deleted",
    "tr-chosen-among-all",
    "tr-cloud-event",
    "tr-cluster-sets",
    "tr-rules",
    "tr-source-by-cluster",
    "tr-suspend",
];

/// One question about one cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Question {
    cluster: String,
    /// `object`, `trigger`, `profile` or `event`.
    what: &'static str,
    which: String,
    namespace: String,
}

/// What is known of the answer before it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Deployed,
    Not,
    /// Something of it is there, and something is not.
    Partly,
}

/// What `sluice explain -o json` prints.
#[derive(Debug, Deserialize)]
struct Explanation {
    verdict: String,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
struct Step {
    about: String,
    verdict: String,
    says: String,
    #[serde(default)]
    remedy: String,
}

/// Asks after each step of a scenario, and holds the answers against what is written down.
pub struct Examiner {
    server: String,
    file: PathBuf,
    with_events: bool,
    /// What was there after some step.
    seen: BTreeSet<Question>,
    /// What was in some cluster of the scenario itself.
    held: BTreeSet<Question>,
    /// The lines of all steps so far.
    answers: Vec<String>,
}

// === impl Question ===

impl Question {
    fn object(cluster: String, object: &Value) -> Self {
        let which = format!("{}/{}", object::text(object, &["kind"]), object::name(object));
        let namespace = object::namespace(object).to_owned();
        Self { cluster, what: "object", which, namespace }
    }

    /// Whether an object of a cluster, or a CloudEvent that was sent there, is an event.
    fn event(cluster: String, object: &Value) -> Self {
        if !CloudEvent::is_meant(object) {
            return Self { what: "event", ..Self::object(cluster, object) };
        }
        let which = format!("CloudEvent/{}", object::text(object, &["subject"]));
        let namespace = object::text(object, &["source"]).to_owned();
        Self { cluster, what: "event", which, namespace }
    }

    /// What is said of it where all is a yes.
    fn yes(&self) -> &'static str {
        if self.what == "event" { "an event" } else { "deployed" }
    }

    fn arguments(&self) -> Vec<&str> {
        let mut arguments = vec!["explain", "--cluster", &self.cluster, self.what, &self.which];
        if !self.namespace.is_empty() && self.what != "trigger" {
            arguments.extend(["-n", &self.namespace]);
        }
        arguments
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.arguments()[2..].join(" "))
    }
}

// === impl Examiner ===

impl Examiner {
    /// Who asks this server about this scenario.
    pub fn new(scenario: &Scenario, server: &str) -> Self {
        let file = Scenario::folder().join(&scenario.name).join("explained.txt");
        let with_events = WITH_EVENTS.contains(&scenario.name.as_str());
        let (seen, held, answers) = Default::default();
        Self { server: server.to_owned(), file, with_events, seen, held, answers }
    }

    /// Asks about everything after a step.
    ///
    /// # Errors
    /// The answer that is not the right one.
    pub async fn ask(&mut self, number: usize, state: &State, expected: &Expected) -> anyhow::Result<()> {
        if is_writing() {
            // Nothing says which answer is the last one.
            tokio::time::sleep(SETTLED).await;
        }
        let build = state.explained()?;
        let written = self.written();
        for (question, known) in self.questions(state, &build, expected) {
            let line = format!("{number:02} {question}: ");
            let wanted = written.iter().find(|written| written.starts_with(&line));
            let as_written = |answer: &str| match known {
                Known::Deployed => format!("{line}{THERE}{answer}"),
                _ => format!("{line}{answer}"),
            };
            let is_right = |answer: &str| match (known, wanted) {
                (_, Some(wanted)) => *wanted == as_written(answer),
                (Known::Deployed, None) => is_writing() || answer == question.yes(),
                (known, None) => is_writing() && (known == Known::Partly || answer != question.yes()),
            };
            let answer = self.until(&question, is_right).await;
            let answer = answer.with_context(|| format!("{line}must be {known:?}, written is {wanted:?}"))?;
            if known != Known::Deployed || answer != question.yes() {
                self.answers.push(as_written(&answer));
            }
        }
        Ok(())
    }

    /// Looks whether everything that is written down was asked for; or writes it down.
    ///
    /// # Errors
    /// The line that nobody asked for.
    pub fn end(&self) -> anyhow::Result<()> {
        if is_writing() {
            let text: String = self.answers.iter().map(|line| format!("{line}\n")).collect();
            if text.is_empty() {
                return Ok(());
            }
            return std::fs::write(&self.file, text).with_context(|| self.file.display().to_string());
        }
        let written = self.written();
        let left = written.iter().find(|line| !self.answers.contains(line));
        anyhow::ensure!(left.is_none(), "{}: nobody asks for {left:?}", self.file.display());
        Ok(())
    }

    fn written(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn questions(&mut self, state: &State, build: &Build, expected: &Expected) -> BTreeMap<Question, Known> {
        let mut questions = causes(state, build, expected);
        let clusters = clusters(state);
        let name = |place: &String| clusters.get(place).unwrap_or(place).clone();
        let objects = |of: &BTreeMap<String, Vec<Value>>| -> Vec<Question> {
            let places = of.iter().map(|(place, objects)| (name(place), objects));
            places
                .flat_map(|(name, objects)| {
                    objects.iter().map(move |object| Question::object(name.clone(), object))
                })
                .collect()
        };
        let there = objects(&expected.clusters);
        for question in
            self.seen.iter().cloned().chain(objects(&expected.pending)).chain(objects(&expected.kept))
        {
            questions.insert(question, Known::Not);
        }
        questions.extend(objects(&expected.former).into_iter().map(|question| (question, Known::Partly)));
        questions.extend(there.iter().cloned().map(|question| (question, Known::Deployed)));
        self.seen.extend(there);
        if self.with_events {
            self.held.extend(held(state));
            let known = |question: &Question| (question.clone(), known_event(build, question));
            questions.extend(self.held.iter().map(known));
        }
        questions
    }

    /// Asks until the answer is the right one.
    async fn until(&self, question: &Question, is_right: impl Fn(&str) -> bool) -> anyhow::Result<String> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let answer = self.answer(question).await?;
            if is_right(&answer) {
                return Ok(answer);
            }
            anyhow::ensure!(Instant::now() < deadline, "sluice explain says {answer}");
            tokio::time::sleep(LOOK).await;
        }
    }

    /// `deployed` or `an event`, or `no` or `unknown` with the first step that is not a yes.
    async fn answer(&self, question: &Question) -> anyhow::Result<String> {
        let asked = tokio::process::Command::new(Programs::beside_me()?.find("sluice")?)
            .args(question.arguments())
            .args(["--server", &self.server, "-o", "json"])
            .output()
            .await?;
        let error = String::from_utf8_lossy(&asked.stderr);
        let answer: Explanation =
            serde_json::from_slice(&asked.stdout).with_context(|| error.into_owned())?;
        let (verdict, first) = match asked.status.code() {
            Some(0) => ("yes", None),
            Some(1) => ("no", Some("no")),
            _ => ("unknown", Some("unknown")),
        };
        anyhow::ensure!(answer.verdict == verdict, "exit code {} and {}", asked.status, answer.verdict);
        let Some(first) = first else { return Ok(question.yes().to_owned()) };
        let step = answer.steps.iter().find(|step| step.verdict == first);
        let Step { about, says, remedy, .. } = step.with_context(|| format!("there is no {first}"))?;
        anyhow::ensure!(!remedy.is_empty(), "{about}: {says}: without a remedy");
        // A problem may have several lines; the file has one for each question.
        Ok(masked(&format!("{verdict}: {about}: {says}").replace('\n', "; ")))
    }
}

/// Without the names of contents, which are others in each installation.
fn masked(text: &str) -> String {
    let is_name = |word: &str| word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split_inclusive([' ', ',', ':']);
    let masked = words.map(|word| match word.trim_end_matches([' ', ',', ':']) {
        name if is_name(name) => word.replace(name, "…"),
        _ => word.to_owned(),
    });
    masked.collect()
}

fn is_writing() -> bool {
    std::env::var_os(WRITE).is_some()
}

/// The registered clusters by place, as they are asked about.
fn clusters(state: &State) -> BTreeMap<String, String> {
    let registered = state.at(MANAGEMENT).filter_map(|object| Cluster::read(&Arc::new(object.clone())));
    let name = |id: &ClusterRef| if id.kind == ClusterKind::Capi { id.to_string() } else { id.path() };
    registered.map(|cluster| (cluster.id.path(), name(&cluster.id))).collect()
}

/// Triggers and profiles of users, each with every cluster, and what comes of them there.
fn causes(state: &State, build: &Build, expected: &Expected) -> BTreeMap<Question, Known> {
    let mut questions = BTreeMap::new();
    let mut clusters = clusters(state);
    if expected.clusters.contains_key(MANAGEMENT) {
        clusters.insert(MANAGEMENT.to_owned(), MANAGEMENT.to_owned());
    }
    for object in state.at(MANAGEMENT) {
        let kind = object::text(object, &["kind"]);
        let Some((_, what)) = CAUSES.iter().find(|(cause, _)| *cause == kind) else { continue };
        for (place, cluster) in &clusters {
            let (which, namespace) = (object::name(object).to_owned(), object::namespace(object).to_owned());
            let question = Question { cluster: cluster.clone(), what, which, namespace };
            questions.insert(question, known(build, expected, place, object));
        }
    }
    questions
}

/// Whether each object of a managed cluster is an event.
fn held(state: &State) -> Vec<Question> {
    let clusters = clusters(state);
    let places = state.places().filter(|place| *place != MANAGEMENT);
    let of_place = |place: &str| {
        let cluster = clusters.get(place).cloned().unwrap_or_else(|| place.to_owned());
        state.at(place).map(move |object| Question::event(cluster.clone(), object)).collect::<Vec<_>>()
    };
    places.flat_map(of_place).collect()
}

/// What is made because of an event says that it is one. An event may lead to nothing, and many together have no names.
fn known_event(build: &Build, question: &Question) -> Known {
    let made = build.clusters.values().flatten().chain(&build.management);
    let place =
        if question.namespace.is_empty() { String::new() } else { format!("{}/", question.namespace) };
    let event = question.which.replacen('/', &format!(" {place}"), 1);
    let is_because = |made: &Value| {
        let because = |field: &str| object::text(made, &["because", field]);
        because("event") == event && question.cluster.ends_with(because("cluster"))
    };
    if made.into_iter().any(is_because) { Known::Deployed } else { Known::Partly }
}

/// What comes of a trigger or profile in a cluster. A profile may be provisioned that deploys nothing there.
fn known(build: &Build, expected: &Expected, place: &str, cause: &Value) -> Known {
    let pending: Vec<Option<ObjectKey>> =
        expected.pending.get(place).into_iter().flatten().map(ObjectKey::of).collect();
    let (kind, name) = (object::text(cause, &["kind"]), object::name(cause));
    let described = if kind == "Profile" { object::describe(cause) } else { format!("{kind} {name}") };
    let is_of = |made: &&Value| {
        ["trigger", "profile"].iter().any(|by| object::text(made, &["because", by]) == described)
    };
    let is_profile = kind.ends_with("Profile");
    let made: Vec<&Value> = build.clusters.get(place).into_iter().flatten().filter(is_of).collect();
    let waiting = made.iter().filter(|object| pending.contains(&ObjectKey::of(object))).count();
    match (made.len(), waiting) {
        (0, _) if is_profile || build.management.iter().any(|made| is_of(&made)) => Known::Partly,
        (0, _) => Known::Not,
        _ if expected.is_unwell(place, name) => Known::Partly,
        (_, 0) => Known::Deployed,
        (all, waiting) if all == waiting => Known::Not,
        _ => Known::Partly,
    }
}

/// The scenarios that have something of which nobody can tell whether it is deployed, by what is written down.
///
/// # Errors
/// When the folder cannot be read.
pub fn untold() -> anyhow::Result<Vec<String>> {
    let says = |name: &str| {
        let text = std::fs::read_to_string(Path::join(&Scenario::folder(), name).join("explained.txt"));
        text.unwrap_or_default().lines().any(|line| line.contains(THERE) || line.contains(": unknown: "))
    };
    Ok(Scenario::names()?.into_iter().filter(|name| says(name)).collect())
}
