//! Small tables beside the streams: interest, problems, the journal, contents by digest; and what follows them whole.

pub(crate) mod cloud_events;
pub(crate) mod content_refs;
pub(crate) mod contents;
pub(crate) mod feed;
pub(crate) mod follow;
pub(crate) mod interest;
pub(crate) mod journal;
pub(crate) mod problems;
