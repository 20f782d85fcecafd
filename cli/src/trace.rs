//! `sluice trace`: how an add-on came to be.

use anyhow::Context as _;
use sluice_api::ClusterRef;
use sluice_inspect::{Target, Trace};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::print::put;
use crate::reach::{Reach, destination};
use crate::table::{Output, Table, time};

/// Arguments of `sluice trace`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice trace NetworkPolicy/front-web --cluster default/cluster-1
  sluice trace ConfigMap/settings -n shop --cluster default/cluster-1 -o json

It reads rows that people have no right to: with accounts, use the operator's. Exit code 1 when no profile deploys it.")]
pub(crate) struct Args {
    /// The object: Kind/name, as kubectl takes it: deploy/web, httproutes.gateway.networking.k8s.io/web.
    object: String,
    /// Its namespace; without one, any.
    #[arg(short, long, default_value = "")]
    namespace: String,
    /// The cluster that it is in; `management` for what is deployed to the management cluster.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = destination)]
    cluster: ClusterRef,
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<()> {
        let (kind, name) = self.object.split_once('/').with_context(|| {
            format!("{}: write Kind/name, such as ConfigMap/{}", self.object, self.object)
        })?;
        let target = Target {
            cluster: self.cluster.clone(),
            kind: kind.to_owned(),
            namespace: self.namespace.clone(),
            name: name.to_owned(),
        };
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: None };
        let tasks = Tasks::default();
        for found in self.served.answers(here, &tasks).await?.trace(&target).await? {
            match self.output.data(&found)? {
                Some(data) => put!("{data}"),
                None => put!("{}\n{}", found.profile, table(&found, self.output)),
            }
        }
        Ok(())
    }
}

/// When each row was stored, and how long after the change that led to it.
fn table(trace: &Trace, output: Output) -> Table {
    let wide = output.is_wide();
    let header: &[&str] = if wide {
        &["STAGE", "STORED", "AFTER", "SAYS", "REPLICA"]
    } else {
        &["STAGE", "STORED", "AFTER", "SAYS"]
    };
    let mut table = Table::new(header, output.no_headers);
    for hop in &trace.hops {
        let after = match (hop.at, hop.cause_at) {
            (0, _) | (_, 0) => String::new(),
            (at, cause) => format!("{:.1} ms", (at - cause).max(0) as f64 / 1000.0),
        };
        let stored = if hop.at == 0 { "-".to_owned() } else { time(hop.at) };
        let replica = Some(hop.replica.clone()).filter(|_| wide);
        table.add([hop.stage.to_string(), stored, after, hop.says.clone()].into_iter().chain(replica));
    }
    table
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use sluice_inspect::Hop;

    use super::*;
    use crate::table::Format;

    #[test]
    fn a_row_says_how_long_after_the_change_it_was_stored() {
        let hop = |stage, at, says: &str| Hop {
            stage: Cow::Borrowed(stage),
            at,
            cause_at: 1_700_000_000_000_000,
            replica: "r".into(),
            says: says.into(),
        };
        let hops = vec![hop("matcher", 1_700_000_000_001_500, "an event"), hop("deployer", 0, "nothing yet")];
        let trace = Trace { profile: "ClusterProfile p".into(), hops };
        let text = table(&trace, Output { output: Format::Wide, no_headers: true }).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "| matcher  | 2023-11-14T22:13:20.001Z | 1.5 ms | an event    | r       |");
        assert_eq!(lines[2], "| deployer | -                        |        | nothing yet | r       |");
    }
}
