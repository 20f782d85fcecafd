//! What waits until the server has everything that was published before it: rows, and what is to be done besides.

use std::collections::VecDeque;

use crate::row::Publish;

/// One of them.
pub(super) enum Barrier<E> {
    Row(Box<Publish>),
    Effect(E),
    /// The core wants to hear of it.
    Heard,
}

// D-0316: a row can wait for all rows before it.
/// What waits, in order, each with the number of the first row that it does not wait for.
pub(super) struct Barriers<E>(VecDeque<(u64, Barrier<E>)>);

impl<E> Default for Barriers<E> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<E> Barriers<E> {
    /// This waits for every row before number `next`.
    pub(super) fn push(&mut self, next: u64, barrier: Barrier<E>) {
        self.0.push_back((next, barrier));
    }

    /// What waits no longer, when `oldest` is the first row that the server has not acknowledged.
    pub(super) fn take(&mut self, oldest: Option<u64>) -> Option<Barrier<E>> {
        let (after, _) = self.0.front()?;
        if oldest.is_some_and(|oldest| oldest < *after) {
            return None;
        }
        self.0.pop_front().map(|(_, barrier)| barrier)
    }

    /// What else is to be done also waits for rows that have been let go since: every row before number `next`.
    pub(super) fn restamp_others(&mut self, next: u64) {
        let others = self.0.iter_mut().filter(|(_, barrier)| !matches!(barrier, Barrier::Row(_)));
        others.for_each(|(after, _)| *after = next);
    }

    /// Puts what waits in another queue behind what waits here.
    pub(super) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }
}
