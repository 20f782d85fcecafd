//! Logs as text for people, or as one JSON object a line: time, level, message, and the fields of the event and of what it
//! happened in, such as stage, shard and cluster.

use std::fmt;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// How logs are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// How a process that runs for long logs.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct LogArgs {
    /// How logs are written to standard error.
    #[arg(long, env = "SLUICE_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// Writes events, and the fields of spans, as JSON.
#[derive(Debug)]
pub(crate) struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (mut time, mut fields) = (String::new(), Fields::default());
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        // What is said nearer to the event counts.
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let known = span.extensions();
            let known = known.get::<FormattedFields<N>>().map_or("", |known| known.fields.as_str());
            fields.0.extend(read(known).into_iter().map(|(key, value)| match key.as_str() {
                // What a span is about has the span's name.
                "name" => (span.name().to_owned(), value),
                _ => (key, value),
            }));
        }
        event.record(&mut fields);
        let metadata = event.metadata();
        let level = metadata.level().as_str().to_lowercase();
        for (key, value) in [("time", time), ("level", level), ("target", metadata.target().to_owned())] {
            fields.0.insert(key.to_owned(), value.into());
        }
        writeln!(writer, "{}", Value::Object(fields.0))
    }
}

impl<'w> FormatFields<'w> for Json {
    fn format_fields<R: RecordFields>(&self, mut writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut found = Fields::default();
        fields.record(&mut found);
        write!(writer, "{}", Value::Object(found.0))
    }

    fn add_fields(
        &self,
        current: &'w mut FormattedFields<Self>,
        fields: &tracing::span::Record<'_>,
    ) -> fmt::Result {
        let mut found = Fields(read(&current.fields));
        fields.record(&mut found);
        current.fields = Value::Object(found.0).to_string();
        Ok(())
    }
}

/// The fields of a span, as they were written.
fn read(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

/// Collects fields.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        self.0.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io;
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The lines that are written meanwhile, without their times.
    fn logged(work: impl FnOnce()) -> Vec<Value> {
        let lines = Lines::default();
        let to = lines.clone();
        let logs = tracing_subscriber::fmt().event_format(Json).fmt_fields(Json);
        tracing::subscriber::with_default(logs.with_writer(move || to.clone()).finish(), work);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let read = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            assert!(line["time"].take().as_str().unwrap().ends_with('Z'), "{line}");
            line
        };
        text.lines().map(read).collect()
    }

    #[test]
    fn a_line_has_the_fields_of_the_event_and_of_what_it_happened_in() {
        let lines = logged(|| {
            let of = tracing::info_span!(
                "task",
                name = "shard",
                stage = "deployer",
                shard = "03",
                cluster = tracing::field::Empty
            );
            of.record("cluster", "sveltos:a/b");
            let _within = of.enter();
            tracing::warn!(object = %"Service \"x\"", attempts = 3, "it\nfails");
        });
        let expected = json!({"time": null, "level": "warn", "target": module_path!(), "message": "it\nfails", "task": "shard",
            "stage": "deployer", "shard": "03", "cluster": "sveltos:a/b", "object": "Service \"x\"", "attempts": 3});
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn what_is_said_nearer_to_the_event_counts() {
        let lines = logged(|| {
            let _outer = tracing::info_span!("outer", shard = "01").entered();
            let _inner = tracing::info_span!("inner", shard = "02").entered();
            tracing::info!("first");
            tracing::info!(shard = "03", "second");
        });
        let shards: Vec<_> = lines.iter().map(|line| line["shard"].clone()).collect();
        assert_eq!(shards, ["02", "03"]);
    }
}
