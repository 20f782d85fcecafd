//! One cluster is taken over: what Sveltos has deployed gets Sluice's manager, and inventories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Context as _;
use futures::StreamExt as _;
use sluice_api::{ObjectKey, object};
use sluice_deployer_core::{Inventory, RemovalChecks};
use sluice_protocol::rows::Release;

use super::claims::ReleaseClaim;
use super::fields::Writer;
use super::marks::{self, MANAGER};
use super::outcome::{Left, Outcome, Taken};
use super::profiles::{KnownProfile, KnownProfiles};
use super::record::Record;
use super::release::{self, Installed};
use super::site::{Found, Kinds, Site};

/// Objects of a cluster that are written at a time.
const AT_ONCE: usize = 16;

/// What one profile has.
struct Share {
    known: KnownProfile,
    /// What objects call the profile.
    named: String,
    objects: BTreeSet<Arc<ObjectKey>>,
    releases: BTreeMap<String, Release>,
}

/// Everything of one cluster.
#[derive(Default)]
struct Shares {
    by_profile: BTreeMap<String, Share>,
    record: Record,
    outcome: Outcome,
}

// === impl Shares ===

impl Shares {
    /// What the profile has that objects call so.
    fn of(&mut self, known: &KnownProfile, named: &str) -> &mut Share {
        let path = known.profile.path();
        self.record.profiles.insert(path.clone(), named.to_owned());
        self.by_profile.entry(path).or_insert_with(|| Share {
            known: known.clone(),
            named: named.to_owned(),
            objects: BTreeSet::new(),
            releases: BTreeMap::new(),
        })
    }
}

/// Takes a cluster over. Names are written down first, so that whatever comes after can be given back.
pub(super) async fn adopt(
    site: &Site,
    profiles: &KnownProfiles,
    claims: &[ReleaseClaim],
) -> anyhow::Result<Outcome> {
    let kinds = site.kinds().await?;
    let mut shares = Shares::default();
    let objects = objects(site, &kinds, profiles, &mut shares).await;
    let releases = releases(site, &kinds, profiles, claims, &mut shares).await;
    if shares.by_profile.is_empty() {
        return Ok(shares.outcome);
    }
    let record = std::mem::take(&mut shares.record).completed_by(site.record().await?);
    site.write_record(&record).await?;

    let (to, mut changed) = (Writer::applying(MANAGER), 0);
    let of_profiles =
        objects.iter().map(|(found, known)| (found, marks::missing(&found.object, &known.profile), false));
    let of_releases = releases.iter().map(|found| (found, marks::missing_of_chart(&found.object), true));
    let writes = of_profiles.chain(of_releases).map(|(found, marks, is_of_chart)| {
        let (site, to) = (&site, &to);
        async move {
            let is_from = if is_of_chart { marks::is_helm } else { marks::is_former };
            let done = site.rewrite(found, marks, is_from, to).await;
            done.with_context(|| found.key.to_string())
        }
    });
    let mut written = futures::stream::iter(writes).buffer_unordered(AT_ONCE);
    while let Some(done) = written.next().await {
        changed += usize::from(done?);
    }
    for share in shares.by_profile.into_values() {
        let Share { known, named, objects, releases } = share;
        shares.outcome.taken.push(Taken {
            cluster: site.name.clone(),
            profile: known.profile.path(),
            former: named.clone(),
            objects: objects.len(),
            releases: releases.len(),
        });
        site.write_inventory(inventory(&known, named, objects, releases)).await?;
    }
    shares.outcome.changed = changed;
    Ok(shares.outcome)
}

fn inventory(
    known: &KnownProfile,
    named: String,
    objects: BTreeSet<Arc<ObjectKey>>,
    releases: BTreeMap<String, Release>,
) -> Inventory {
    Inventory {
        profile: known.profile.name.clone(),
        owner_kind: known.profile.kind().to_owned(),
        owner_namespace: known.profile.namespace.clone(),
        cause: known.cause.clone(),
        leave: known.leave,
        depends_on: BTreeSet::new(),
        // The first row that comes says them, and the first apply which fields are ours.
        fields: Vec::new(),
        reloads: BTreeMap::new(),
        checks: RemovalChecks::default(),
        complete: false,
        redeployed: BTreeSet::new(),
        keeps: false,
        renewed: 0,
        formerly: Some(named).filter(|name| *name != known.profile.path()).unwrap_or_default(),
        adopted: releases.clone(),
        releases,
        objects,
        stay: None,
    }
}

/// What profiles have deployed, each with its profile.
async fn objects(
    site: &Site,
    kinds: &Kinds,
    profiles: &KnownProfiles,
    shares: &mut Shares,
) -> Vec<(Found, KnownProfile)> {
    let (found, failed) = site.deployed(kinds).await;
    let left = |what: String, why: String| Left { cluster: site.name.clone(), what, why };
    shares
        .outcome
        .left
        .extend(failed.into_iter().map(|why| left("a kind that cannot be listed".into(), why)));
    let is_management = site.kept == sluice_deployer_core::Kept::Management;
    let mut taken = Vec::new();
    for one in found {
        if marks::is_of_chart(&one.object) || marks::is_local(&one.object) != is_management {
            continue;
        }
        let Some((kind, name)) = marks::owner(&one.object) else {
            shares.outcome.left.push(left(one.key.to_string(), "it names no profile".into()));
            continue;
        };
        if !object::text(&one.object, &["metadata", "deletionTimestamp"]).is_empty() {
            shares.outcome.left.push(left(one.key.to_string(), "it is being deleted".into()));
            continue;
        }
        match profiles.find(kind, name, &site.namespace) {
            Ok(known) => {
                shares.of(known, name).objects.insert(Arc::new(one.key.clone()));
                taken.push((one, known.clone()));
            }
            Err(why) => shares.outcome.left.push(left(one.key.to_string(), why)),
        }
    }
    taken
}

/// What Helm has installed for profiles.
async fn releases(
    site: &Site,
    kinds: &Kinds,
    profiles: &KnownProfiles,
    claims: &[ReleaseClaim],
    shares: &mut Shares,
) -> Vec<Found> {
    let mut all = Vec::new();
    for claim in claims {
        let path = claim.path();
        let known = profiles.find(&claim.kind, &claim.profile, &claim.namespace);
        let read = async {
            let known = known.map_err(|why| anyhow::anyhow!(why))?;
            let secrets = site.records(&claim.release_namespace, &claim.release).await?;
            let secret = release::newest(&secrets).context("Helm has no record that says \"deployed\"")?;
            let installed = release::read(secret, |key| kinds.is_namespaced(key)).context("Helm's record")?;
            let mut found = Vec::new();
            for key in &installed.objects {
                found.extend(site.read(key).await?);
            }
            anyhow::Ok((known.clone(), installed, found))
        };
        match read.await {
            Ok((known, installed, found)) => {
                let Installed { mut release, .. } = installed;
                release.repository.clone_from(&claim.repository);
                let helm = found
                    .iter()
                    .find_map(|one| marks::entries(&one.object).iter().find(|entry| marks::is_helm(entry)));
                if let Some(helm) = helm {
                    shares.record.releases.insert(path.clone(), Writer::of(helm));
                }
                let share = shares.of(&known, &claim.profile);
                share.releases.insert(path.clone(), release);
                share.objects.extend(found.iter().map(|one| Arc::new(one.key.clone())));
                all.extend(found);
            }
            Err(error) => {
                let (cluster, what) = (site.name.clone(), format!("release {path}"));
                shares.outcome.left.push(Left { cluster, what, why: super::told(&error) });
            }
        }
    }
    all
}
