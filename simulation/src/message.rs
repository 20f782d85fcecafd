//! What is in a stream: rows, and the fences of owners.

use std::sync::Arc;

use sluice_protocol::{Head, Meta, Subject};

/// What a message holds.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) subject: Subject,
    pub(crate) head: Head,
    pub(crate) body: Arc<[u8]>,
    /// Of a fence row.
    pub(crate) holder: Option<Holder>,
    /// Whether it has a form that only replicas of the newer version can read.
    pub(crate) newer: bool,
}

/// Who has a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Which of the two replicas.
    pub(crate) index: usize,
    /// Which of its lives.
    pub(crate) life: u64,
    /// Which claim of that life.
    pub(crate) number: u32,
}

impl Message {
    /// What a reader of the newer version, or of the older one, gets. Subjects and tombstones have one form.
    pub(crate) fn read_by(&self, reader: bool) -> (Subject, Head, Arc<[u8]>) {
        let (mut head, mut body) = (self.head.clone(), self.body.clone());
        if self.newer && !reader {
            if head.meta != Meta::None {
                head.meta = Meta::Unknown("?".into());
            }
            if !body.is_empty() {
                body = (*b"?").into();
            }
        }
        (self.subject.clone(), head, body)
    }
}
