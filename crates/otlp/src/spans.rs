//! A trace as spans: a root from the change to the last thing it led to, and below it one span for each line.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use sluice_protocol::JournalEntry;

use crate::traces::Trace;

/// The stage that a trace begins with: it saw the change.
const ROOT: &str = "agent";
/// What begins when the line before it, on the way of an event, has been told.
const BEFORE: [(&str, &str); 2] = [("rendered", "matched"), ("applied", "rendered")];

/// The spans of traces, by the stage whose they are.
pub(crate) fn resource_spans(traces: &[Trace]) -> Vec<ResourceSpans> {
    let mut stages: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    for trace in traces {
        stages.entry(ROOT).or_default().extend(root(trace));
        for (number, line) in trace.lines.iter().enumerate() {
            stages.entry(&line.stage).or_default().push(span(trace, number, line));
        }
    }
    stages
        .into_iter()
        .filter(|(_, spans)| !spans.is_empty())
        .map(|(stage, spans)| of_stage(stage, spans))
        .collect()
}

fn of_stage(stage: &str, spans: Vec<Span>) -> ResourceSpans {
    let name = attribute("service.name", &format!("sluice-{stage}"));
    let resource = Resource { attributes: vec![name], ..Resource::default() };
    let scope = InstrumentationScope { name: "sluice".into(), ..InstrumentationScope::default() };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }
}

/// The whole of it, unless it was sent before.
fn root(trace: &Trace) -> Option<Span> {
    let first = trace.lines.first().filter(|_| !trace.is_late)?;
    let start = trace.lines.iter().map(changed_at).min()?;
    let end = trace.lines.iter().map(|line| line.at).max()?;
    Some(Span {
        trace_id: trace.id.to_vec(),
        span_id: root_id(trace),
        name: format!("change of {}", first.object),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: nanos(start),
        end_time_unix_nano: nanos(end.max(start)),
        attributes: vec![attribute("sluice.cluster", &first.cluster)],
        ..Span::default()
    })
}

fn span(trace: &Trace, number: usize, line: &JournalEntry) -> Span {
    let what = BEFORE.iter().find(|(what, _)| *what == line.what).map(|(_, before)| *before);
    // What is applied was rendered for the same cluster; what is rendered was matched in another one, perhaps.
    let leads_to = |other: &&JournalEntry| {
        Some(other.what.as_str()) == what
            && other.at <= line.at
            && (other.what != "rendered" || (&other.cluster, &other.object) == (&line.cluster, &line.object))
    };
    let before = trace.lines.iter().filter(leads_to).map(|other| other.at).max();
    Span {
        trace_id: trace.id.to_vec(),
        span_id: span_id(trace, number + 1),
        parent_span_id: root_id(trace),
        name: format!("{} {}", line.what, line.object),
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: nanos(before.unwrap_or_else(|| changed_at(line))),
        end_time_unix_nano: nanos(line.at),
        attributes: vec![
            attribute("sluice.cluster", &line.cluster),
            attribute("sluice.object", &line.object),
            attribute("sluice.what", &line.what),
        ],
        ..Span::default()
    }
}

/// When the change was that a line follows from.
fn changed_at(line: &JournalEntry) -> i64 {
    line.at - line.micros
}

/// Follows from the trace, so that what comes late finds it.
fn root_id(trace: &Trace) -> Vec<u8> {
    let mut id = trace.id[8..].to_vec();
    // A name of zeros is none.
    id[0] |= 1;
    id
}

/// Differs from that of the root, and from others of the trace: what comes late is counted from elsewhere.
fn span_id(trace: &Trace, number: usize) -> Vec<u8> {
    let mut low = [0; 8];
    low.copy_from_slice(&trace.id[..8]);
    let late = u64::from(trace.is_late) << 32;
    let spread = (number as u64 + late).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (u64::from_be_bytes(low).wrapping_add(spread) | 1).to_be_bytes().to_vec()
}

fn nanos(micros: i64) -> u64 {
    u64::try_from(micros).unwrap_or(0).saturating_mul(1000)
}

fn attribute(key: &str, value: &str) -> KeyValue {
    let value = AnyValue { value: Some(Value::StringValue(value.to_owned())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}
