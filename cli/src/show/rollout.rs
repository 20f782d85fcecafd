//! `sluice show rollout`: how a profile or trigger is rolled out.

use sluice_api::{ObjectKey, few};
use sluice_inspect::{Part, Place, Rollout};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::maker::maker;
use crate::print::put;
use crate::reach::{Management, Reach};
use crate::table::{Output, Table};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice show rollout ClusterProfile/admission-policies
  sluice show rollout Profile/shop/quota -o yaml
  sluice show rollout EventTrigger/network-policies -o json | jq -r '.clusters[] | select(.state == \"waits\") | .cluster'

The order is that of the content that went out last. It reads rows that people have no right to: with accounts, use the operator's.")]
pub(super) struct Args {
    /// The profile or trigger: ClusterProfile/name, Profile/namespace/name or EventTrigger/name.
    #[arg(value_name = "KIND/NAME", value_parser = maker)]
    of: ObjectKey,
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: Some(&self.management) };
        let tasks = Tasks::default();
        let rollout = self.served.answers(here, &tasks).await?.rollout(&self.of).await?;
        match self.output.data(&rollout)? {
            Some(data) => put!("{data}"),
            None => put!("{}", text(&rollout, self.output)),
        }
        Ok(())
    }
}

/// In words: how far it is, what comes after what, and its clusters.
fn text(rollout: &Rollout, output: Output) -> String {
    let Rollout { object, says, order, clusters, called, missing } = rollout;
    let mut text = format!("{object}: {says}\n");
    if !called.is_empty() {
        text.push_str(&format!("went out last: {}\n", few(", ", called)));
    }
    for missing in missing {
        text.push_str(&format!("missing: {missing}\n"));
    }
    if !order.is_empty() {
        let mut table = Table::new(&["WHAT", "WHICH", "SAYS"], output.no_headers);
        for Part { what, which, says } in order {
            table.add([what, which, says].map(String::clone));
        }
        text.push_str(&table.to_string());
    }
    if !clusters.is_empty() {
        text.push_str(&places(clusters, output).to_string());
    }
    text
}

/// With the profiles, where a trigger has made them.
fn places(clusters: &[Place], output: Output) -> Table {
    let of_trigger = clusters.iter().any(|place| !place.profile.is_empty());
    let header: &[&'static str] =
        if of_trigger { &["CLUSTER", "STATE", "SAYS", "PROFILE"] } else { &["CLUSTER", "STATE", "SAYS"] };
    let mut table = Table::new(header, output.no_headers);
    for Place { cluster, profile, state, says } in clusters {
        table.add([cluster, state, says, profile].map(String::clone));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Format;

    fn shown(profile: &str) -> String {
        let part = Part {
            what: "policyRefs 1".into(),
            which: "ConfigMap default/web".into(),
            says: "Namespace, then Deployment".into(),
        };
        let place = Place {
            cluster: "eu/c04".into(),
            profile: profile.into(),
            state: "waits".into(),
            says: "its turn has not come".into(),
        };
        let rollout = Rollout {
            object: "ClusterProfile web".into(),
            says: "0 of 1 clusters have it".into(),
            order: vec![part],
            clusters: vec![place],
            called: vec!["3f2a90c1d4e5".into()],
            missing: vec!["the bus".into()],
        };
        text(&rollout, Output { output: Format::Table, no_headers: false })
    }

    #[test]
    fn the_order_comes_before_the_clusters() {
        let expected = "\
ClusterProfile web: 0 of 1 clusters have it
went out last: 3f2a90c1d4e5
missing: the bus
+--------------+-----------------------+----------------------------+
|     WHAT     |         WHICH         |            SAYS            |
+--------------+-----------------------+----------------------------+
| policyRefs 1 | ConfigMap default/web | Namespace, then Deployment |
+--------------+-----------------------+----------------------------+
+---------+-------+-----------------------+
| CLUSTER | STATE |         SAYS          |
+---------+-------+-----------------------+
| eu/c04  | waits | its turn has not come |
+---------+-------+-----------------------+
";
        assert_eq!(shown(""), expected);
    }

    #[test]
    fn what_a_trigger_has_made_is_named() {
        assert!(shown("ClusterProfile web-1").contains("| its turn has not come | ClusterProfile web-1 |\n"));
    }
}
