//! The calls to one cluster's API server: those that wait, those in flight, those that may still arrive although nobody waits for
//! their answers, and how many the server can take.

use std::collections::{HashMap, HashSet, VecDeque};

use sluice_api::ProfileId;
use sluice_protocol::CallId;

use crate::budget::Budget;
use crate::late_calls::LateCalls;
use crate::request::{Class, Failure, Reply, Request};

/// A call, and for which profile it is; the list of all inventories, and of all objects of a kind, is for none.
pub(crate) type Call = (Request, Option<ProfileId>);

/// Times are microseconds of the clock that nobody sets.
pub(crate) struct CallQueue {
    waiting: VecDeque<Call>,
    in_flight: HashMap<CallId, Call>,
    /// Calls in flight on objects that were changed since, or may have been: what their answers tell may be older than that.
    overtaken: HashSet<CallId>,
    budget: Budget,
    late: LateCalls,
}

/// What the answer to a call says.
pub(crate) struct Answered {
    pub(crate) call: Call,
    /// The reply, unless it may be older than the last change of its object.
    pub(crate) reply: Option<Reply>,
    /// Why the server is taken for dead from now on; `Some(None)` when it no longer is.
    pub(crate) trouble: Option<Option<String>>,
}

impl CallQueue {
    /// Nothing waits. Calls of a former owner may arrive as `late` says.
    pub(crate) fn new(late: LateCalls) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: HashMap::new(),
            overtaken: HashSet::new(),
            budget: Budget::new(),
            late,
        }
    }

    /// Calls that may still arrive. Once they are over everything is compared with the cluster once more.
    pub(crate) fn late(&self) -> &LateCalls {
        &self.late
    }

    /// Whether late calls are over, for the first time. What is being read then may have been read before the last of them came.
    pub(crate) fn take_end_of_late(&mut self, now: i64) -> bool {
        let is_over = self.late.take_end(now);
        if is_over {
            let reads = self.in_flight.iter().filter(|(_, (request, _))| request.is_read());
            self.overtaken.extend(reads.map(|(id, _)| *id));
        }
        is_over
    }

    /// Whether no call waits for its answer.
    pub(crate) fn is_quiet(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Whether the server counts as dead.
    pub(crate) fn is_broken(&self) -> bool {
        self.budget.is_broken()
    }

    pub(crate) fn push(&mut self, request: Request, profile: Option<ProfileId>) {
        self.waiting.push_back((request, profile));
    }

    /// The calls that the budget allows now, with their numbers; `next_id` counts them.
    pub(crate) fn take(&mut self, now: i64, next_id: &mut CallId) -> Vec<(CallId, Request)> {
        let mut calls = Vec::new();
        while !self.waiting.is_empty() && self.budget.take(now) {
            let Some((request, profile)) = self.waiting.pop_front() else { break };
            *next_id = next_id.next();
            self.in_flight.insert(*next_id, (request.clone(), profile));
            calls.push((*next_id, request));
        }
        calls
    }

    /// When calls that wait can go, and when late ones are over, whichever comes first.
    pub(crate) fn wakes_at(&self, now: i64) -> Option<i64> {
        let opens = Some(self.budget.opens_at()).filter(|at| !self.waiting.is_empty() && *at > now);
        opens.into_iter().chain(self.late.until()).min()
    }

    /// The answer to a call came; `None` when nobody waits for it any more. After so many failures in a row it is said that the
    /// server is dead.
    pub(crate) fn answer(&mut self, id: CallId, reply: Reply, threshold: u32, now: i64) -> Option<Answered> {
        let call = self.in_flight.remove(&id)?;
        let trouble = self.count(&reply, threshold, now);
        if matches!(reply, Reply::Failed(Failure { class: Class::Unanswered, .. })) {
            self.late.expect(&call.0, now);
        }
        let reply = self.order(id, &call.0, reply);
        Some(Answered { call, reply, trouble })
    }

    /// Two profiles may be at one object: what was seen of it before the last change is to be seen once more (`None`).
    fn order(&mut self, id: CallId, request: &Request, reply: Reply) -> Option<Reply> {
        let overtaken = self.overtaken.remove(&id);
        if let Some(key) = request.changes() {
            let about = self.in_flight.iter().filter(|(_, (other, _))| other.is_about(&key));
            self.overtaken.extend(about.map(|(id, _)| *id));
        }
        match reply {
            Reply::Read(_) | Reply::Inventory(_) if overtaken => None,
            Reply::Applied(_) if overtaken => Some(Reply::Done),
            reply => Some(reply),
        }
    }

    /// How the server does.
    fn count(&mut self, reply: &Reply, threshold: u32, now: i64) -> Option<Option<String>> {
        let is_dead = |budget: &Budget| budget.is_broken() && budget.failures() >= threshold;
        let was_dead = is_dead(&self.budget);
        match reply {
            Reply::Failed(Failure { class, message, retry_after }) if class.is_transient() => {
                self.budget.failed(*retry_after, now);
                (is_dead(&self.budget) && !was_dead).then(|| {
                    Some(format!("the API server does not answer as it should: {message}; it is tried again"))
                })
            }
            _ => {
                self.budget.answered();
                was_dead.then_some(None)
            }
        }
    }

    /// The server may be another one from now on. Answers to what was sent are for nobody, and what was sent may arrive yet, as if
    /// a former owner had sent it.
    pub(crate) fn forget(&mut self, now: i64) {
        for (request, _) in std::mem::take(&mut self.in_flight).into_values() {
            self.late.expect(&request, now);
        }
        self.waiting.clear();
        self.overtaken.clear();
        self.budget = Budget::new();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::{Gvk, ObjectKey};

    use super::*;

    const LASTING: i64 = 1_000;
    /// When a server that failed once is asked again.
    const LATER: i64 = 60_000_000;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "default".into(), name: name.into() }
    }

    fn delete(name: &str) -> Request {
        Request::Delete { key: key(name), against: ("u".to_owned(), "1".to_owned()), account: None }
    }

    fn queue() -> (CallQueue, CallId) {
        (CallQueue::new(LateCalls::new(LASTING, None)), CallId::new(0))
    }

    fn failed(class: Class) -> Reply {
        Reply::Failed(Failure::new(class, "no"))
    }

    #[test]
    fn what_was_read_before_an_object_was_changed_is_read_once_more() {
        let (mut queue, mut id) = queue();
        queue.push(Request::Read(key("a")), None);
        queue.push(Request::Read(key("b")), None);
        queue.push(delete("a"), None);
        assert_eq!(queue.take(0, &mut id).len(), 3);
        assert_eq!(queue.answer(CallId::new(3), Reply::Done, 0, 0).unwrap().reply, Some(Reply::Done));
        assert_eq!(queue.answer(CallId::new(1), Reply::Read(None), 0, 0).unwrap().reply, None);
        assert_eq!(
            queue.answer(CallId::new(2), Reply::Read(None), 0, 0).unwrap().reply,
            Some(Reply::Read(None))
        );
        assert!(queue.answer(CallId::new(2), Reply::Read(None), 0, 0).is_none() && queue.is_quiet());
    }

    #[test]
    fn what_was_read_before_the_last_late_call_may_have_come_is_read_once_more() {
        let (mut queue, mut id) = queue();
        queue.push(delete("a"), None);
        queue.take(0, &mut id);
        queue.answer(CallId::new(1), failed(Class::Unanswered), 0, 0).unwrap();
        queue.push(Request::Read(key("a")), None);
        queue.push(Request::ReadInventory(ProfileId::cluster("p")), None);
        assert_eq!(queue.take(LATER, &mut id).len(), 2);
        assert!(queue.take_end_of_late(LATER + LASTING));
        queue.push(Request::ReadInventory(ProfileId::cluster("p")), None);
        assert_eq!(queue.take(LATER + LASTING, &mut id).len(), 1);
        let mut answer = |id, reply| queue.answer(CallId::new(id), reply, 0, LATER + LASTING).unwrap().reply;
        assert_eq!(answer(2, Reply::Read(None)), None);
        assert_eq!(answer(3, Reply::Inventory(None)), None);
        assert_eq!(answer(4, Reply::Inventory(None)), Some(Reply::Inventory(None)), "it was asked later");
    }

    #[test]
    fn what_is_not_answered_may_arrive_late_and_a_dead_server_is_said_once() {
        let (mut queue, mut id) = queue();
        let (mut now, mut troubles) = (0, Vec::new());
        for _ in 0..10 {
            queue.push(Request::ReadInventory(ProfileId::cluster("p")), None);
            let calls = queue.take(now, &mut id);
            let answered = queue.answer(calls[0].0, failed(Class::Unanswered), 0, now).unwrap();
            troubles.extend(answered.trouble);
            now += 60_000_000;
        }
        assert_eq!(troubles.len(), 1, "{troubles:?}");
        assert!(queue.is_broken() && !queue.late().may_come(now), "a call that reads changes nothing late");
        queue.push(Request::ReadInventory(ProfileId::cluster("p")), None);
        let calls = queue.take(now, &mut id);
        assert_eq!(queue.answer(calls[0].0, Reply::Done, 0, now).unwrap().trouble, Some(None));
    }

    #[test]
    fn what_was_sent_to_a_former_server_is_for_nobody_and_may_arrive_yet() {
        let (mut queue, mut id) = queue();
        queue.push(delete("a"), None);
        queue.take(5, &mut id);
        queue.push(Request::Read(key("b")), None);
        queue.forget(5);
        assert!(
            queue.answer(CallId::new(1), Reply::Done, 0, 6).is_none() && queue.take(6, &mut id).is_empty()
        );
        assert!(queue.late().may_come(5 + LASTING - 1));
        assert_eq!(queue.wakes_at(6), Some(5 + LASTING));
        assert!(queue.take_end_of_late(5 + LASTING) && !queue.take_end_of_late(5 + LASTING));
    }
}
