//! `sluice show events`: how many events there are.

use sluice_api::ClusterRef;
use sluice_inspect::{Events, EventsFilter};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::reach::{Management, Reach, cluster};
use crate::table::{Output, Table};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice show events
  sluice show events --cluster default/cluster-1 -o wide

What no trigger uses on a cluster is not shown. As long as a set is not complete, nothing is withdrawn because of it; -o wide
says what is missing. It reads rows that people have no right to: with accounts, use the operator's.")]
pub(super) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
    /// Only this cluster.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = cluster)]
    cluster: Option<ClusterRef>,
    /// Only this EventSource.
    #[arg(long, value_name = "NAME")]
    event_source: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: Some(&self.management) };
        let tasks = Tasks::default();
        let filter = EventsFilter { cluster: self.cluster, event_source: self.event_source };
        let found = self.served.answers(here, &tasks).await?.events(&filter).await?;
        Ok(self.output.print(found, |found| table(found, self.output))?)
    }
}

/// Wide, also what is missing.
fn table(found: Vec<Events>, output: Output) -> Table {
    let wide = output.is_wide();
    let mut header = vec!["CLUSTER", "EVENT SOURCE", "OBJECTS", "COMPLETE"];
    header.extend(wide.then_some("MESSAGE"));
    let mut table = Table::new(&header, output.no_headers);
    for Events { cluster, event_source, objects, complete, message } in found {
        let cells = [cluster, event_source, objects.to_string(), complete];
        table.add(cells.into_iter().chain(wide.then_some(message)));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Format;

    #[test]
    fn a_set_that_is_not_complete_says_what_is_missing_where_there_is_room() {
        let events = |complete: &str, message: &str| Events {
            cluster: "n/c".into(),
            event_source: "s".into(),
            objects: 3,
            complete: complete.into(),
            message: message.into(),
        };
        let found = || vec![events("yes", ""), events("no", "one")];
        let text = |output| table(found(), Output { output, no_headers: true }).to_string();
        let narrow = "\
+---------+--------------+---------+----------+
| n/c     | s            | 3       | yes      |
| n/c     | s            | 3       | no       |
+---------+--------------+---------+----------+
";
        assert_eq!(text(Format::Table), narrow);
        assert!(text(Format::Wide).contains("| no       | one     |"), "{}", text(Format::Wide));
    }
}
