//! What the nodes of a bus say about themselves. Only the leader of a group knows which copies are current, so that
//! each group is taken from the node that says it leads it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// The answer of one node.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Said {
    meta_cluster: Option<Group>,
    #[serde(default)]
    account_details: Vec<Account>,
}

#[derive(Debug, Deserialize)]
struct Account {
    #[serde(default)]
    stream_detail: Vec<Stream>,
}

#[derive(Debug, Deserialize)]
struct Stream {
    name: String,
    cluster: Option<Group>,
    #[serde(default)]
    state: State,
    #[serde(default)]
    consumer_detail: Vec<Consumer>,
}

/// As much of what a stream holds as is needed.
#[derive(Debug, Default, Deserialize)]
struct State {
    #[serde(default)]
    last_seq: u64,
    #[serde(default)]
    messages: u64,
}

#[derive(Debug, Deserialize)]
struct Consumer {
    name: String,
}

/// A leader and those that follow it.
#[derive(Clone, Debug, Default, Deserialize)]
struct Group {
    #[serde(default)]
    leader: String,
    #[serde(default)]
    replicas: Vec<Peer>,
}

#[derive(Clone, Debug, Deserialize)]
struct Peer {
    name: String,
    #[serde(default)]
    current: bool,
    #[serde(default)]
    offline: bool,
}

/// What all nodes say at one time.
#[derive(Debug, Default)]
pub struct View {
    nodes: usize,
    /// Nodes that do not answer, or say that they are not ready.
    unwell: Vec<String>,
    meta: Option<(usize, Group)>,
    streams: BTreeSet<String>,
    led: BTreeMap<String, (usize, Group)>,
    consumers: BTreeSet<(String, String)>,
    /// The highest that a node says, by stream.
    last: BTreeMap<String, u64>,
    messages: BTreeMap<String, u64>,
}

// === impl View ===

impl View {
    /// Nothing has been said yet by so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// Takes the answer of a node.
    pub(super) fn take(&mut self, index: usize, name: &str, said: Said) {
        // A server that is alone leads everything, and calls itself by its identity.
        let leads = |group: &Group| self.nodes == 1 || group.leader == name;
        match said.meta_cluster {
            Some(group) if leads(&group) => self.meta = Some((index, group)),
            None if self.nodes == 1 => self.meta = Some((index, Group::default())),
            _ => {}
        }
        for stream in said.account_details.into_iter().flat_map(|account| account.stream_detail) {
            let last = self.last.entry(stream.name.clone()).or_default();
            *last = (*last).max(stream.state.last_seq);
            let messages = self.messages.entry(stream.name.clone()).or_default();
            *messages = (*messages).max(stream.state.messages);
            let group = stream.cluster.unwrap_or_default();
            if leads(&group) {
                self.led.insert(stream.name.clone(), (index, group));
            }
            for consumer in stream.consumer_detail {
                self.consumers.insert((stream.name.clone(), consumer.name));
            }
            self.streams.insert(stream.name);
        }
    }

    /// Notes a node that does not answer, or says that it is not ready. A leader takes a copy for current until it has
    /// missed some of its beats; the node itself knows better.
    pub(super) fn unwell(&mut self, index: usize, reason: &str) {
        self.unwell.push(format!("node {index}: {reason}"));
    }

    /// The node that leads the cluster.
    pub fn meta_leader(&self) -> Option<usize> {
        self.meta.as_ref().map(|(index, _)| *index)
    }

    /// The node that leads a stream.
    pub fn leader_of(&self, stream: &str) -> Option<usize> {
        self.led.get(stream).map(|(index, _)| *index)
    }

    /// How many streams each node leads, by node.
    pub fn leads(&self) -> Vec<usize> {
        let count = |node| self.led.values().filter(|(index, _)| *index == node).count();
        (0..self.nodes).map(count).collect()
    }

    /// The node that leads most streams; `None` without streams.
    pub fn busiest(&self) -> Option<usize> {
        let most = self.leads().into_iter().enumerate().max_by_key(|&(_, count)| count);
        most.filter(|&(_, count)| count > 0).map(|(index, _)| index)
    }

    /// All streams that a node knows.
    pub fn streams(&self) -> &BTreeSet<String> {
        &self.streams
    }

    /// The sequence of the message that each stream stored last: it grows with every message, whatever becomes of that.
    pub fn last_sequences(&self) -> &BTreeMap<String, u64> {
        &self.last
    }

    /// How many messages are in the streams whose names begin so.
    pub fn messages(&self, prefix: &str) -> u64 {
        self.messages.iter().filter(|(stream, _)| stream.starts_with(prefix)).map(|(_, count)| count).sum()
    }

    /// The smallest number of copies that a stream has.
    pub fn fewest_copies(&self) -> usize {
        self.led.values().map(|(_, group)| group.replicas.len() + 1).min().unwrap_or(0)
    }

    /// How many consumers there are.
    pub fn consumers(&self) -> usize {
        self.consumers.len()
    }

    /// How many consumers each stream has that has any, for messages.
    pub fn consumers_by_stream(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for (stream, _) in &self.consumers {
            *counts.entry(stream.as_str()).or_default() += 1;
        }
        counts
    }

    /// What is not as it should be; `None` when every node answers, everything has a leader and every copy is current.
    pub fn ailment(&self) -> Option<String> {
        if let Some(unwell) = self.unwell.first() {
            return Some(format!("a node of the bus is not ready: {unwell}"));
        }
        let Some((_, meta)) = &self.meta else { return Some("the bus has no leader".to_owned()) };
        if let Some(peer) = meta.behind() {
            return Some(format!("node {peer} is behind the leader of the bus"));
        }
        if let Some(stream) = self.streams.iter().find(|stream| !self.led.contains_key(*stream)) {
            return Some(format!("stream {stream} has no leader"));
        }
        let behind = self.led.iter().find_map(|(stream, (_, group))| Some((stream, group.behind()?)));
        behind.map(|(stream, peer)| format!("the copy of stream {stream} on {peer} is not current"))
    }
}

// === impl Group ===

impl Group {
    fn behind(&self) -> Option<&str> {
        self.replicas.iter().find(|peer| peer.offline || !peer.current).map(|peer| peer.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn mk_said(leader: &str, current: bool, streams: &[Value]) -> Said {
        let peers = json!([{"name": "nats-2", "current": current}]);
        let said = json!({
            "meta_cluster": {"leader": leader, "replicas": peers},
            "account_details": [{"name": "$G", "stream_detail": streams}],
        });
        serde_json::from_value(said).unwrap()
    }

    fn mk_stream(leader: &str, current: bool) -> Value {
        json!({
            "name": "CHANGES-00",
            "cluster": {"leader": leader, "replicas": [{"name": "nats-2", "current": current}]},
            "consumer_detail": [{"name": "a"}, {"name": "b"}],
        })
    }

    #[test]
    fn only_a_leader_is_asked_whether_copies_are_current() {
        let mut view = View::new(2);
        view.take(1, "nats-2", mk_said("nats-1", false, &[mk_stream("nats-1", false)]));
        assert_eq!((view.meta_leader(), view.ailment().unwrap().as_str()), (None, "the bus has no leader"));
        view.take(0, "nats-1", mk_said("nats-1", true, &[mk_stream("nats-1", true)]));
        assert_eq!((view.ailment(), view.meta_leader(), view.busiest()), (None, Some(0), Some(0)));
        assert_eq!((view.leader_of("CHANGES-00"), view.leads()), (Some(0), vec![1, 0]));
        assert_eq!((view.consumers(), view.fewest_copies()), (2, 2));
    }

    #[test]
    fn what_is_behind_is_named() {
        let mut view = View::new(2);
        view.take(0, "nats-1", mk_said("nats-1", true, &[mk_stream("nats-1", false)]));
        assert!(view.ailment().unwrap().contains("stream CHANGES-00 on nats-2"));
        view.unwell(1, "no answer");
        assert!(view.ailment().unwrap().contains("node 1: no answer"));
    }

    #[test]
    fn of_what_the_nodes_say_a_stream_has_stored_the_most_counts() {
        let mk_stored = |last: u64| json!({"name": "CHANGES-00", "state": {"messages": 1, "last_seq": last}});
        let mut view = View::new(2);
        view.take(0, "nats-1", mk_said("nats-1", true, &[mk_stored(9)]));
        view.take(1, "nats-2", mk_said("nats-1", true, &[mk_stored(7)]));
        assert_eq!(view.last_sequences(), &BTreeMap::from([("CHANGES-00".to_owned(), 9)]));
        assert_eq!((view.messages("CHANGES-"), view.messages("REPORTS-")), (1, 0));
    }

    #[test]
    fn a_server_that_is_alone_leads_everything() {
        let said =
            json!({"account_details": [{"stream_detail": [{"name": "S", "cluster": {"leader": "NABC"}}]}]});
        let mut view = View::new(1);
        view.take(0, "nats-1", serde_json::from_value(said).unwrap());
        assert_eq!((view.ailment(), view.leader_of("S"), view.meta_leader()), (None, Some(0), Some(0)));
    }
}
