//! Watches as bodies of events, one JSON object a line.

use bytes::{Bytes, BytesMut};
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};

use super::NoError;
use super::respond::{self, Format, Response};
use crate::cluster::{Batch, ChangeKind, Watch};
use crate::kinds::Endpoint;
use crate::object::Object;
use crate::table::{self, Include};

/// How one watch writes its events.
struct Writer {
    format: Format,
    include: Include,
    columns_sent: bool,
}

/// An answer that goes on until the watch ends.
pub fn respond(watch: Watch, format: Format, include: Include) -> Response {
    let writer = Writer { format, include, columns_sent: false };
    let events = stream::unfold((watch, writer), |(mut watch, mut writer)| async move {
        let batch = watch.next().await?;
        let bytes = writer.write(&batch, watch.endpoint());
        Some((Ok::<_, NoError>(Frame::data(bytes)), (watch, writer)))
    });
    respond::with_body(200, "application/json", StreamBody::new(events).boxed_unsync())
}

// === impl Writer ===

impl Writer {
    fn write(&mut self, batch: &Batch, endpoint: &Endpoint) -> Bytes {
        match batch {
            Batch::Changes(changes) => {
                let size: usize = changes.iter().map(|(_, object)| object.size_hint() + 128).sum();
                let mut out = BytesMut::with_capacity(size);
                for (kind, object) in changes {
                    self.write_change(*kind, object, endpoint, &mut out);
                }
                out.freeze()
            }
            Batch::Bookmark { resource_version, initial } => {
                self.bookmark(*resource_version, *initial, endpoint)
            }
            Batch::Error(error) => line(&json!({"type": "ERROR", "object": error.to_json()})),
        }
    }

    fn write_change(&mut self, kind: ChangeKind, object: &Object, endpoint: &Endpoint, out: &mut BytesMut) {
        let head: &[u8] = match kind {
            ChangeKind::Added => b"{\"type\":\"ADDED\",\"object\":",
            ChangeKind::Modified => b"{\"type\":\"MODIFIED\",\"object\":",
            ChangeKind::Deleted => b"{\"type\":\"DELETED\",\"object\":",
        };
        out.extend_from_slice(head);
        match self.format {
            Format::Json | Format::Aggregated => object.write(&endpoint.version().prefix, out),
            Format::Metadata => table::write(&table::partial_metadata(object), out),
            Format::Table => table::write(&self.table(object, endpoint), out),
        }
        out.extend_from_slice(b"}\n");
    }

    /// A table of one row; the columns are told once.
    fn table(&mut self, object: &Object, endpoint: &Endpoint) -> Value {
        let known = std::mem::replace(&mut self.columns_sent, true);
        let columns = if known { Value::Null } else { table::definitions(endpoint) };
        let metadata = json!({"resourceVersion": object.meta_str("resourceVersion")});
        let rows = [table::row(endpoint, object, self.include)];
        json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows})
    }

    fn bookmark(&self, resource_version: u64, initial: bool, endpoint: &Endpoint) -> Bytes {
        let mut metadata = json!({"resourceVersion": resource_version.to_string()});
        if initial && let Value::Object(map) = &mut metadata {
            map.insert("annotations".into(), json!({"k8s.io/initial-events-end": "true"}));
        }
        let (api_version, kind) = match self.format {
            Format::Metadata => ("meta.k8s.io/v1", "PartialObjectMetadata"),
            Format::Table => ("meta.k8s.io/v1", "Table"),
            Format::Json | Format::Aggregated => (endpoint.api_version(), &*endpoint.def.kind),
        };
        line(
            &json!({"type": "BOOKMARK", "object": {"kind": kind, "apiVersion": api_version, "metadata": metadata}}),
        )
    }
}

fn line(value: &Value) -> Bytes {
    Bytes::from(format!("{value}\n"))
}
