//! What was taken over is given back: names and managers as Sveltos and Helm know them, and no inventory.

use anyhow::Context as _;
use sluice_api::ProfileId;
use sluice_deployer_core::Inventory;

use super::fields::Writer;
use super::marks::{self, FORMER, MANAGER};
use super::outcome::{Left, Outcome, Taken};
use super::profiles::KnownProfiles;
use super::record::Record;
use super::site::Site;

/// Gives one cluster back. An inventory goes when everything of it has been given back.
pub(super) async fn undo(site: &Site, profiles: &KnownProfiles) -> anyhow::Result<Outcome> {
    let (record, mut outcome) = (site.record().await?, Outcome::default());
    for stored in site.inventories().await? {
        let inventory = &stored.inventory;
        let profile = inventory.id();
        let former = former(&record, profiles, &profile, &site.namespace);
        for key in &inventory.objects {
            let Some(found) = site.read(key).await? else { continue };
            let done = if marks::is_of_chart(&found.object) {
                give_release_back(site, &record, &found).await
            } else {
                let named = marks::renamed(&found.object, profile.kind(), &former);
                site.rewrite(&found, named, is_ours, &Writer::applying(FORMER)).await
            };
            outcome.changed += usize::from(done.with_context(|| key.to_string())?);
        }
        outcome.left.extend(own_releases(site, &record, inventory));
        outcome.taken.push(Taken {
            cluster: site.name.clone(),
            profile: profile.path(),
            former,
            objects: inventory.objects.len(),
            releases: inventory.releases.len(),
        });
        site.delete_inventory(&profile).await?;
    }
    site.delete_record().await?;
    Ok(outcome)
}

/// By whatever operation: names are patched.
fn is_ours(entry: &serde_json::Value) -> bool {
    Writer::of(entry).manager == MANAGER
}

/// What Sveltos calls a profile: as it did, as long as that one is there. Where it is not, Sveltos finds the one that Sluice has made
/// by its labels.
fn former(record: &Record, profiles: &KnownProfiles, profile: &ProfileId, namespace: &str) -> String {
    let named = record.profiles.get(&profile.path());
    let is_there = |name: &&String| {
        profiles.find(profile.kind(), name, namespace).is_ok_and(|known| known.profile == *profile)
    };
    named.filter(is_there).map_or_else(|| profile.path(), Clone::clone)
}

/// What Helm has made carries no marks of a profile.
async fn give_release_back(site: &Site, record: &Record, found: &super::site::Found) -> anyhow::Result<bool> {
    let helm = marks::release_of(&found.object).and_then(|path| record.releases.get(&path).cloned());
    let helm = helm.unwrap_or_else(|| Writer::applying("helm"));
    site.rewrite(found, None, is_ours, &helm).await?;
    site.unmark(found).await?;
    Ok(true)
}

/// Releases that Sluice has installed.
fn own_releases<'a>(
    site: &'a Site,
    record: &'a Record,
    inventory: &'a Inventory,
) -> impl Iterator<Item = Left> + 'a {
    let own = inventory.releases.keys().filter(|path| !record.releases.contains_key(*path));
    own.map(|path| Left {
        cluster: site.name.clone(),
        what: format!("release {path}"),
        why: "Helm has no record of it: let it take what is there over (takeOwnership), or delete that first"
            .to_owned(),
    })
}
