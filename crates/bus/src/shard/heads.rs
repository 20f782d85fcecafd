//! Reading the heads of a shard's own rows, to take it over.

use sluice_api::Digest;
use sluice_protocol::{Head, Row, Subject};

use crate::buckets::content_refs::ContentRefs;
use crate::bus::Bus;
use crate::error::BusError;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};

/// The heads of the rows that `spec` selects. The large bodies that they name are marked from now on.
pub(crate) async fn heads(
    bus: &Bus,
    spec: &ReadSpec,
    content_refs: &ContentRefs,
) -> Result<Vec<(Subject, Head)>, BusError> {
    let mut reader = read(bus, spec).await?;
    // Boxed, since it is large and thousands may read.
    let Some(found) = Box::pin(reader.all()).await else {
        return Err(BusError::Request {
            what: format!("read the heads of {}", spec.stream),
            source: "the stream is another one now".into(),
        });
    };
    let mut missing = content_refs.adopt(&bus.contents, reader.take_named()).await?;
    let fence = spec.until.as_ref().map_or("", |(fence, _)| fence);
    missing.extend(bus.sealing.stale(fence, reader.take_sealed()));
    let head = |event| match event {
        ReadEvent::Row(Row { subject: Subject::Owner { .. }, .. }, _) => None,
        ReadEvent::Row(Row { subject, mut head, .. }, _) => {
            // A row whose body is lost, or that is sealed for a former key, is published again, whatever its content.
            if missing.contains(&subject) {
                head.digest = Digest::default();
            }
            Some((subject, head))
        }
        _ => None,
    };
    Ok(found.into_iter().filter_map(head).collect())
}
