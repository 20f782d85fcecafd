//! How many events there are.

use sluice_inspect::{Events, EventsFilter};
use sluice_proto::inspect::v1 as proto;

pub(crate) fn question(filter: &EventsFilter) -> proto::ListEventsRequest {
    proto::ListEventsRequest {
        cluster: filter.cluster.as_ref().map(ToString::to_string).unwrap_or_default(),
        event_source: filter.event_source.clone().unwrap_or_default(),
    }
}

pub(crate) fn message(events: Events) -> proto::Events {
    let Events { cluster, event_source, objects, complete, message } = events;
    proto::Events { cluster, event_source, objects, complete, message }
}

pub(crate) fn answer(events: proto::Events) -> Events {
    let proto::Events { cluster, event_source, objects, complete, message } = events;
    Events { cluster, event_source, objects, complete, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_as_they_were() {
        let events = Events {
            cluster: "n/c".into(),
            event_source: "s".into(),
            objects: 3,
            complete: "no".into(),
            message: "said".into(),
        };
        assert_eq!(answer(message(events.clone())), events);
    }
}
