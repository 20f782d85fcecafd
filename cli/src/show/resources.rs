//! `sluice show resources`: objects of managed clusters.

use sluice_inspect::{Resource, ResourceFilter};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::print::put;
use crate::reach::Reach;
use crate::table::{Format, Output, Table};

/// What people call the group without a name.
const CORE: &str = "core";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice show resources --kind Deployment --cluster cluster-1
  sluice show resources --group core --kind Service --full

They are those that agents have told of: of the kinds that EventSources select. It reads rows that people have no right to:
with accounts, use the operator's.")]
pub(super) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    /// Only kinds of this group; core for those without one.
    #[arg(long)]
    group: Option<String>,
    /// Only this kind, as kubectl takes it.
    #[arg(long)]
    kind: Option<String>,
    /// Only objects of this namespace.
    #[arg(long)]
    namespace: Option<String>,
    /// Only clusters of this namespace.
    #[arg(long)]
    cluster_namespace: Option<String>,
    /// Only clusters of this name.
    #[arg(long)]
    cluster: Option<String>,
    /// Print whole objects, as YAML or JSON. Values of Secrets are masked.
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: None };
        let (tasks, filter, output) = (Tasks::default(), self.filter(), self.output());
        let found = self.served.answers(here, &tasks).await?.resources(&filter).await?;
        let mut table = table(output);
        for resource in found {
            match output.data(&resource)? {
                Some(data) => put!("{data}"),
                None => table.add(cells(resource)),
            }
        }
        output.end(&table);
        Ok(())
    }

    fn filter(&self) -> ResourceFilter {
        let group = self.group.clone();
        ResourceFilter {
            group: group.map(|group| if group == CORE { String::new() } else { group }),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            cluster_namespace: self.cluster_namespace.clone(),
            cluster: self.cluster.clone(),
            full: self.full,
        }
    }

    /// A whole object fits into no table.
    fn output(&self) -> Output {
        let is_table = matches!(self.output.output, Format::Table | Format::Wide);
        let output = if self.full && is_table { Format::Yaml } else { self.output.output };
        Output { output, ..self.output }
    }
}

fn table(output: Output) -> Table {
    Table::new(&["CLUSTER", "GVK", "NAMESPACE", "NAME", "MESSAGE"], output.no_headers)
}

fn cells(found: Resource) -> [String; 5] {
    let Resource { cluster, gvk, namespace, name, message, .. } = found;
    [cluster, gvk, namespace, name, message]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(arguments: &[&str]) -> Args {
        #[derive(clap::Parser)]
        struct Whole {
            #[command(flatten)]
            args: Args,
        }
        <Whole as clap::Parser>::parse_from(["show"].iter().chain(arguments)).args
    }

    #[test]
    fn a_line_says_what_the_object_is_and_how_it_is() {
        let resource = Resource {
            cluster: "n/c".into(),
            gvk: "apps/v1/Deployment".into(),
            namespace: "shop".into(),
            name: "web".into(),
            message: "Available=True".into(),
            object: None,
        };
        let mut table = table(args(&[]).output);
        table.add(cells(resource));
        let text = table.to_string();
        let row = "| n/c     | apps/v1/Deployment | shop      | web  | Available=True |";
        assert_eq!(text.lines().nth(3), Some(row));
    }

    #[test]
    fn whole_objects_are_data() {
        assert_eq!(args(&["--full"]).output().output, Format::Yaml);
        assert_eq!(args(&["--full", "-o", "json"]).output().output, Format::Json);
        assert_eq!(args(&["-o", "wide"]).output().output, Format::Wide);
    }

    #[test]
    fn the_group_without_a_name_is_called_core() {
        let group = |arguments: &[&str]| args(arguments).filter().group;
        let all = [group(&[]), group(&["--group", "core"]), group(&["--group", "apps"])];
        assert_eq!(all, [None, Some(String::new()), Some("apps".to_owned())]);
    }
}
