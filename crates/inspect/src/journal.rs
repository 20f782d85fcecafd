//! What happens from now on.

use sluice_api::ClusterRef;
use sluice_protocol::JournalEntry;
use tokio::sync::mpsc;

/// Which lines are asked for.
#[derive(Clone, Debug, Default)]
pub struct JournalFilter {
    /// Only what this stage does.
    pub stage: Option<String>,
    /// Only what is done on or for this cluster.
    pub cluster: Option<ClusterRef>,
    /// Only objects and profiles with this in their name.
    pub object: Option<String>,
}

/// The chosen lines as they are told.
#[derive(Debug)]
pub struct Told {
    pub(crate) lines: mpsc::Receiver<JournalEntry>,
    pub(crate) filter: JournalFilter,
}

// === impl JournalFilter ===

impl JournalFilter {
    fn wants(&self, line: &JournalEntry) -> bool {
        self.stage.as_ref().is_none_or(|stage| *stage == line.stage)
            && self.cluster.as_ref().is_none_or(|cluster| path(&line.cluster) == cluster.path())
            && self.object.as_deref().is_none_or(|part| line.object.contains(part))
    }
}

/// A cluster without its kind.
fn path(cluster: &str) -> &str {
    cluster.split_once(':').map_or(cluster, |(_, path)| path)
}

// === impl Told ===

impl Told {
    /// The next lines, at most so many; none when there will be no more.
    pub async fn next(&mut self, most: usize) -> Vec<JournalEntry> {
        let mut lines = Vec::new();
        while lines.is_empty() {
            if self.lines.recv_many(&mut lines, most).await == 0 {
                break;
            }
            lines.retain(|line| self.filter.wants(line));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_chosen_by_stage_cluster_and_object() {
        let line = JournalEntry::new("deployer", "applied", "sveltos:n/c", "ConfigMap x/web", 3_500, 1_000);
        let wants = |stage: &str, cluster: &str, object: &str| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let cluster =
                cluster.split_once('/').map(|(namespace, name)| ClusterRef::sveltos(namespace, name));
            JournalFilter { stage: text(stage), cluster, object: text(object) }.wants(&line)
        };
        assert!(wants("", "", "") && wants("deployer", "n/c", "web"));
        assert!(!wants("matcher", "", "") && !wants("", "n/d", "") && !wants("", "", "shop"));
    }
}
