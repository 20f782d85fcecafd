//! The small rows as JSON, which the bus carries, and as protobuf: writing one and reading it again. Sizes are printed first.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use divan::{Bencher, black_box};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sluice_proto::Message;
use sluice_proto::bus::v1 as proto;
use sluice_protocol::interest::{Interest, Source};
use sluice_protocol::rows::{State, Status};
use sluice_protocol::{About, JournalEntry, ProblemRow, Revision};

fn main() {
    println!("bytes        JSON   protobuf");
    size("status", &status(), &status_message(status()));
    size("problem", &problem(), &problem_message(problem()));
    size("journal", &line(), &line_message(line()));
    size("interest", &interest(), &interest_message(&interest()));
    divan::main();
}

fn size(name: &str, json: &impl Serialize, message: &impl Message) {
    println!("{name:<10} {:>6}   {:>8}", serde_json::to_vec(json).unwrap().len(), message.encoded_len());
}

// === Rows as they are on the bus ===

fn status() -> Status {
    Status::new(State::Provisioned, Vec::new())
}

fn problem() -> ProblemRow {
    let about = About::Trigger(sluice_api::TriggerId::new("EventTrigger", "service-network-policy"));
    let text = "spec.policyRefs[0].name: template: network-policy:3: unexpected \"}\" in operand";
    let row = ProblemRow::new("renderer", "sveltos:default/cluster-1", about, text, 1_700_000_000_000_001);
    ProblemRow { attempts: 3, ..row }
}

fn line() -> JournalEntry {
    let object = "Service default/my-service (sveltos-service)";
    JournalEntry::new("matcher", "matched", "sveltos:default/cluster-1", object, 3_500, 1_000)
}

/// Ten EventSources.
fn interest() -> Interest {
    let source = |number: u64| {
        let name = format!("sveltos-service-{number}");
        let filter = json!({"key": "sveltos", "operation": "Equal", "value": "fv"});
        let selector = json!({"group": "", "version": "v1", "kind": "Service", "labelFilters": [filter]});
        let manifest: Value = json!({"kind": "EventSource", "metadata": {"name": name},
            "spec": {"collectResources": true, "resourceSelectors": [selector]}});
        Source { name, changed: Revision::new(1_700_000_000_000 + number), manifest: Arc::new(manifest) }
    };
    Interest {
        revision: Revision::new(1_700_000_000_100),
        sources: (0..10).map(source).collect(),
        ..Interest::default()
    }
}

// === The same as messages ===

fn status_message(status: Status) -> proto::Status {
    let state = match status.state {
        State::Held => proto::State::Held,
        State::Provisioning => proto::State::Provisioning,
        State::Provisioned => proto::State::Provisioned,
        State::Failed => proto::State::Failed,
        State::DryRun => proto::State::DryRun,
    };
    proto::Status { state: state.into(), errors: status.errors, spec: status.spec }
}

fn status_row(status: proto::Status) -> Status {
    let state = match status.state() {
        proto::State::Held | proto::State::Unspecified => State::Held,
        proto::State::Provisioning => State::Provisioning,
        proto::State::Provisioned => State::Provisioned,
        proto::State::Failed => State::Failed,
        proto::State::DryRun => State::DryRun,
    };
    Status { state, errors: status.errors, spec: status.spec, row: None }
}

fn problem_message(row: ProblemRow) -> proto::Problem {
    let ProblemRow { stage, cluster, object, error, since, attempts, .. } = row;
    proto::Problem { stage, cluster, object, error, since, attempts }
}

fn problem_row(message: proto::Problem) -> ProblemRow {
    let proto::Problem { stage, cluster, object, error, since, attempts } = message;
    ProblemRow { object, attempts, ..ProblemRow::new(&stage, &cluster, About::Cluster, error, since) }
}

fn line_message(line: JournalEntry) -> proto::JournalLine {
    let JournalEntry { what, stage, cluster, object, micros, at, trace } = line;
    proto::JournalLine { what, stage, cluster, object, micros, at, trace }
}

fn line_row(message: proto::JournalLine) -> JournalEntry {
    let proto::JournalLine { what, stage, cluster, object, micros, at, trace } = message;
    JournalEntry { what, stage, cluster, object, micros, at, trace }
}

fn interest_message(interest: &Interest) -> proto::Interest {
    let source = |source: &Source| proto::Source {
        name: source.name.clone(),
        changed: source.changed.get(),
        manifest: serde_json::to_vec(&source.manifest).unwrap(),
    };
    proto::Interest {
        revision: interest.revision.get(),
        sources: interest.sources.iter().map(source).collect(),
    }
}

fn interest_row(message: proto::Interest) -> Interest {
    let source = |source: proto::Source| Source {
        name: source.name,
        changed: Revision::new(source.changed),
        manifest: serde_json::from_slice(&source.manifest).unwrap(),
    };
    Interest {
        revision: Revision::new(message.revision),
        sources: message.sources.into_iter().map(source).collect(),
        ..Interest::default()
    }
}

// === Writing and reading ===

fn json<T: Serialize + DeserializeOwned + Sync>(bencher: Bencher<'_, '_>, row: T) {
    bencher.bench(|| {
        let bytes = serde_json::to_vec(black_box(&row)).unwrap();
        serde_json::from_slice::<T>(&bytes).unwrap()
    });
}

/// From a row of ours to bytes and back to a row of ours, which has to be made into a message in between.
fn protobuf<T: Clone + Sync, M: Message + Default>(
    bencher: Bencher<'_, '_>,
    row: T,
    message: impl Fn(T) -> M + Sync,
    back: impl Fn(M) -> T + Sync,
) {
    bencher.bench(|| {
        let bytes = message(black_box(&row).clone()).encode_to_vec();
        back(M::decode(bytes.as_slice()).unwrap())
    });
}

#[divan::bench]
fn status_as_json(bencher: Bencher<'_, '_>) {
    json(bencher, status());
}

#[divan::bench]
fn status_as_protobuf(bencher: Bencher<'_, '_>) {
    protobuf(bencher, status(), status_message, status_row);
}

#[divan::bench]
fn problem_as_json(bencher: Bencher<'_, '_>) {
    json(bencher, problem());
}

#[divan::bench]
fn problem_as_protobuf(bencher: Bencher<'_, '_>) {
    protobuf(bencher, problem(), problem_message, problem_row);
}

#[divan::bench]
fn journal_as_json(bencher: Bencher<'_, '_>) {
    json(bencher, line());
}

#[divan::bench]
fn journal_as_protobuf(bencher: Bencher<'_, '_>) {
    protobuf(bencher, line(), line_message, line_row);
}

#[divan::bench]
fn interest_as_json(bencher: Bencher<'_, '_>) {
    json(bencher, interest());
}

#[divan::bench]
fn interest_as_protobuf(bencher: Bencher<'_, '_>) {
    protobuf(bencher, interest(), |row| interest_message(&row), interest_row);
}
