//! `sluice show usage`: what is used where.

use sluice_inspect::{Usage, UsageFilter};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::reach::{Management, Reach};
use crate::table::{Output, Table};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice show usage --kind ConfigMap
  sluice show usage --kind Secret --namespace shop --name login -o wide

Profiles and triggers are shown themselves as well, with their clusters. Names that are templates are shown as they are written,
and again as they are in the profiles that triggers made. The bus is asked while the management cluster is away; for that, with
accounts, use the operator's.")]
pub(super) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    management: Management,
    /// Only this kind, such as ConfigMap, Secret or ClusterProfile.
    #[arg(long)]
    kind: Option<String>,
    /// Only what is in this namespace.
    #[arg(long)]
    namespace: Option<String>,
    /// Only what has this name.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: Some(&self.management) };
        let tasks = Tasks::default();
        let filter = UsageFilter { kind: self.kind, namespace: self.namespace, name: self.name };
        let found = self.served.answers(here, &tasks).await?.usage(&filter).await?;
        Ok(self.output.print(found, |found| table(found, self.output))?)
    }
}

/// Wide, also who uses it.
fn table(found: Vec<Usage>, output: Output) -> Table {
    let wide = output.is_wide();
    let mut header = vec!["RESOURCE KIND", "RESOURCE NAMESPACE", "RESOURCE NAME", "CLUSTERS"];
    header.extend(wide.then_some("USED BY"));
    let mut table = Table::new(&header, output.no_headers);
    for Usage { kind, namespace, name, clusters, used_by } in found {
        let cells = [kind, namespace, name, clusters.join(", ")];
        table.add(cells.into_iter().chain(wide.then(|| used_by.join(", "))));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Format;

    #[test]
    fn a_line_names_all_clusters_and_wide_who_uses_it() {
        let usage = Usage {
            kind: "Secret".into(),
            namespace: "shop".into(),
            name: "login".into(),
            clusters: vec!["n/a".into(), "n/b".into()],
            used_by: vec!["Profile/shop/p".into()],
        };
        let text = |output| table(vec![usage.clone()], Output { output, no_headers: true }).to_string();
        let narrow = "\
+---------------+--------------------+---------------+----------+
| Secret        | shop               | login         | n/a, n/b |
+---------------+--------------------+---------------+----------+
";
        assert_eq!(text(Format::Table), narrow);
        assert!(text(Format::Wide).contains("| n/a, n/b | Profile/shop/p |"), "{}", text(Format::Wide));
    }
}
