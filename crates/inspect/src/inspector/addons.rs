//! What is deployed where: of ClusterConfigurations and rows, as far as management cluster and bus can be asked.

use std::collections::BTreeSet;

use sluice_api::{ClusterKind, ClusterRef, MANAGEMENT};

use super::{Inspector, LONG_PATIENCE, Listed, in_time, in_time_of};
use crate::addons::{Addon, AddonFilter, Configured, There, addons, addons_on_bus, merged, newer};
use crate::error::InspectError;
use crate::objects::{Line, Shown, lines};

/// What the management cluster says.
struct Written {
    configured: Configured,
    there: There,
    /// The clusters that may be meant, where one is named.
    named: Option<BTreeSet<ClusterRef>>,
}

impl Inspector {
    /// What is deployed where, as of now: what deployers have written down, and where rows are newer than that, what these say.
    /// Where only one of both can be asked it is said what is missing.
    ///
    /// # Errors
    /// When both are away, or what is asked for is not known.
    pub async fn addons(&self, filter: &AddonFilter) -> Result<Listed<Addon>, InspectError> {
        let Written { configured, there, named } = match self.configured(filter).await {
            Ok(written) => written,
            Err(InspectError::Away(error)) => return self.wanted(filter, &error).await,
            Err(error) => return Err(error),
        };
        let on_bus = async {
            let bus = self.bus()?;
            if !bus.shows_tables() {
                return Err(InspectError::Away("people have no right to the tables of this bus".to_owned()));
            }
            let work = newer(&bus, &configured.of_rows, named.as_ref(), filter);
            in_time_of(LONG_PATIENCE, "the bus", Box::pin(work)).await
        };
        let (found, missing) = match on_bus.await {
            Ok(newer) => (newer.corrected(configured.found), Vec::new()),
            Err(error) => {
                let text = format!(
                    "what was applied in the last seconds ({error}): these are ClusterConfigurations"
                );
                (configured.found, vec![text])
            }
        };
        Ok(Listed { found: filter.choose(merged(found), &there)?, missing })
    }

    /// What the bus alone tells.
    async fn wanted(&self, filter: &AddonFilter, away: &str) -> Result<Listed<Addon>, InspectError> {
        let on_bus = async {
            in_time_of(LONG_PATIENCE, "the bus", Box::pin(addons_on_bus(&self.bus()?, filter))).await
        };
        let Ok(found) = on_bus.await else { return Err(InspectError::Away(away.to_owned())) };
        let others = if filter.profile.is_some() { ", which other profiles deploy the same" } else { "" };
        let missing = format!(
            "when it was applied, but for when it was wanted{others} ({away}): these are what renderers want, where deployers have \
             provisioned all of it"
        );
        Ok(Listed { found, missing: vec![missing] })
    }

    /// What deployers have written into the management cluster, and what there is besides.
    async fn configured(&self, filter: &AddonFilter) -> Result<Written, InspectError> {
        let client = self.management()?;
        let configured = in_time("the management cluster", addons(&client, filter)).await?;
        let (mut there, mut named) = (There::default(), None);
        if let Some(name) = &filter.cluster {
            let work = lines(&client, Shown::Clusters, filter.namespace.as_deref());
            let registered = in_time("the management cluster", work).await?;
            let known = configured.of_rows.keys().cloned().chain([ClusterRef::management()]);
            let known = known.chain(registered.iter().map(registration)).filter(|it| it.name == *name);
            named = Some(known.collect());
            there
                .clusters
                .extend(registered.into_iter().map(|line| line.name).chain([MANAGEMENT.to_owned()]));
        }
        if filter.profile.is_some() {
            let work = lines(&client, Shown::Profiles, None);
            let written = in_time("the management cluster", work).await?;
            there.profiles.extend(written.into_iter().map(|line| format!("{}/{}", line.kind, line.name)));
        }
        Ok(Written { configured, there, named })
    }
}

fn registration(line: &Line) -> ClusterRef {
    let kind = if line.kind == "SveltosCluster" { ClusterKind::Sveltos } else { ClusterKind::Capi };
    ClusterRef { kind, namespace: line.namespace.clone(), name: line.name.clone() }
}
