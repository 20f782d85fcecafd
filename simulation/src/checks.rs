//! What must hold at every write to a cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_protocol::Outgoing;

use self::rollouts::Rollouts;
use self::told::{Grounds, Reasons, Told};
use crate::management::{Addon, CLUSTERS};
use crate::world::STEP;

mod rollouts;
mod told;

/// Since when things are as they are, in microseconds of the schedule.
pub(crate) struct History {
    /// Since when a service of a cluster is an event without a break.
    event_since: BTreeMap<(&'static str, String), i64>,
    /// The last CloudEvent of a subject of a cluster that deletes.
    deleted: BTreeMap<(&'static str, &'static str), u64>,
    /// When each version of a service came to be.
    born: BTreeMap<u64, i64>,
    /// When the management cluster last gave a reason to withdraw an add-on from, or because of, a cluster.
    reasons: Reasons,
    /// What deployers have been told.
    told: Told,
    /// Since when the profile that takes over from the user's is for a cluster.
    next_since: BTreeMap<&'static str, i64>,
    /// Where what that one deploys is there, as far as deployers have written it.
    next_there: BTreeSet<String>,
    /// Who has which content of the user's profile.
    pub(crate) rollouts: Rollouts,
    /// When a stream last lost what it had acknowledged.
    lost_at: i64,
    /// When streams last had older rows in the place of those.
    older_at: i64,
    /// When there were last two makers of one profile.
    pub(crate) rival_at: i64,
    /// When rows of `desired` were last deleted: who writes them anew may have an older view than who wrote them before.
    pub(crate) wiped_at: i64,
    /// Now.
    pub(crate) now: i64,
}

/// A stream that has lost rows holds older ones until their owner, who may be away itself, has found it out and written
/// them again. What is done until then, and for so long after it, is excused: until those who read it have caught up.
const UNNOTICED: i64 = LATE;
/// After so long rows that were not written again need not be: what they say is true again.
const NOT_WRITTEN_AGAIN: i64 = 2 * LATE;

/// Renderers learn late of what changes in the management cluster, and may act upon it for so long.
pub(crate) const LATE: i64 = 600 * STEP;
/// Long before every schedule.
const NEVER: i64 = -2 * LATE;

impl Default for History {
    fn default() -> Self {
        Self {
            event_since: BTreeMap::new(),
            deleted: BTreeMap::new(),
            born: BTreeMap::new(),
            reasons: Reasons::default(),
            told: Told::default(),
            next_since: BTreeMap::new(),
            next_there: BTreeSet::new(),
            rollouts: Rollouts::default(),
            lost_at: NEVER,
            older_at: NEVER,
            rival_at: NEVER,
            wiped_at: NEVER,
            now: 0,
        }
    }
}

impl History {
    /// A service changed; `event` is its version when it is one.
    pub(crate) fn service(&mut self, cluster: &'static str, name: &str, event: Option<u64>, now: i64) {
        let key = (cluster, name.to_owned());
        match event {
            Some(v) => {
                self.born.insert(v, now);
                self.event_since.entry(key).or_insert(now);
            }
            None => drop(self.event_since.remove(&key)),
        }
    }

    /// A CloudEvent of this version was sent that deletes.
    pub(crate) fn deleted(&mut self, cluster: &'static str, subject: &'static str, version: u64) {
        self.deleted.insert((cluster, subject), version);
    }

    /// The management cluster gives a reason to withdraw this.
    pub(crate) fn reason(&mut self, (addon, cluster): (Addon, usize)) {
        self.reasons.give(addon, cluster, self.now);
    }

    /// Whether the profile that takes over from the user's is for a cluster.
    pub(crate) fn next(&mut self, cluster: &'static str, is_for: bool) {
        match is_for {
            true => drop(self.next_since.entry(cluster).or_insert(self.now)),
            false => drop(self.next_since.remove(cluster)),
        }
    }

    /// A row has been stored: a renderer tells deployers something, or they say what became of it.
    pub(crate) fn stored(&mut self, row: &Outgoing) -> Option<String> {
        let excused = self.is_excused();
        self.told.note(&row.row.subject, (&self.reasons, excused), self.now);
        let excused = excused || self.now - self.wiped_at < LATE;
        if excused {
            self.rollouts.excuse();
        }
        self.rollouts.stored(row, self.now).filter(|_| !excused)
    }

    /// There is a reason in this cluster.
    pub(crate) fn reason_at(&mut self, addon: Addon, cluster: &str) {
        if let Some(index) = CLUSTERS.iter().position(|known| *known == cluster) {
            self.reason((addon, index));
        }
    }

    /// Whether the service has been an event ever since this version of it.
    fn always_since(&self, cluster: &str, name: &str, v: u64) -> bool {
        let known = CLUSTERS.into_iter().find(|known| *known == cluster);
        let since = known.and_then(|cluster| self.event_since.get(&(cluster, name.to_owned())));
        since.zip(self.born.get(&v)).is_some_and(|(since, born)| since <= born)
    }

    /// A stream loses what it had acknowledged.
    pub(crate) fn lose(&mut self) {
        (self.lost_at, self.older_at) = (self.now, self.now);
    }

    /// Streams still have older rows in the place of what they lost.
    pub(crate) fn note_older(&mut self) {
        if self.now - self.lost_at < NOT_WRITTEN_AGAIN {
            self.older_at = self.now;
        }
    }

    /// Whether a stream lost rows so lately that nobody need know better.
    pub(crate) fn is_excused(&self) -> bool {
        self.now - self.older_at < UNNOTICED
    }

    /// Checks that `new` may take the place of `old` in `cluster`; `None` deletes.
    pub(crate) fn check(
        &mut self,
        cluster: &str,
        key: &ObjectKey,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> Result<(), String> {
        if key.name == "next" {
            match new {
                Some(_) => drop(self.next_there.insert(cluster.to_owned())),
                None => drop(self.next_there.remove(cluster)),
            }
        }
        let Some(old) = old else { return Ok(()) };
        if self.is_excused() || self.told.is_excused(cluster, (old, new), self.now) {
            return Ok(());
        }
        self.check_edit(cluster, key, old, new)?;
        let grounds = Grounds::new((&self.told, &self.reasons), cluster, (old, new), self.now);
        if let Some(service) = key.name.strip_prefix("each-") {
            return self.check_each(&grounds, (cluster, key), service, old, new);
        }
        if let Some(source) = key.name.strip_prefix("all-") {
            return self.check_all(&grounds, (cluster, key), source, old, new);
        }
        if let Some((source, destination)) =
            key.name.strip_prefix("here-").and_then(|names| names.split_once('-'))
        {
            return self.check_all(&grounds, (destination, key), source, old, new);
        }
        if let Some(subject) = key.name.strip_prefix("sent-") {
            return self.check_sent(&grounds, (cluster, key), subject, old, new);
        }
        if key.name == "team" && new.is_none() && grounds.has_none(Addon::Team, cluster) {
            return Err(format!("{cluster}: {key} withdrawn, its profile was there all the time"));
        }
        if key.name == "back" && new.is_none() && grounds.has_none(Addon::Back, cluster) {
            return Err(format!("{cluster}: {key} withdrawn, its profile was there all the time"));
        }
        if key.name == "own" && new.is_none() {
            self.check_succession(cluster)?;
        }
        // The maker that has the name goes, and the row of the one that waits is lost, or at the beginning not written yet:
        // nobody knows of it.
        let unknown = self.now - self.wiped_at.max(0).min(self.rival_at) < LATE;
        if key.name == "own" && new.is_none() && grounds.has_none(Addon::Own, cluster) && !unknown {
            return Err(format!("{cluster}: {key} withdrawn, its profile was there all the time"));
        }
        if key.name == "base" && new.is_none() && grounds.has_none(Addon::Own, cluster) && !unknown {
            return Err(format!(
                "{cluster}: {key} withdrawn, the profile that needs it was there all the time"
            ));
        }
        Ok(())
    }

    /// What the user's profile has goes after that is there which takes over.
    fn check_succession(&self, cluster: &str) -> Result<(), String> {
        let is_for = self.next_since.get(cluster).is_some_and(|since| self.now - since > LATE);
        let excused = self.now - self.wiped_at < LATE || self.next_there.contains(cluster);
        match is_for && !excused {
            true => Err(format!("{cluster}: own withdrawn, who takes over is not there")),
            false => Ok(()),
        }
    }

    /// What one renderer makes of a ConfigMap is not made of an older one afterwards.
    fn check_edit(
        &self,
        cluster: &str,
        key: &ObjectKey,
        old: &Value,
        new: Option<&Value>,
    ) -> Result<(), String> {
        let of_one =
            ["each-", "all-", "here-", "more-", "team"].iter().any(|start| key.name.starts_with(start));
        let edits = new.map(|new| (version(old, "edit"), version(new, "edit")));
        match edits.filter(|(before, after)| after < before) {
            Some((before, after)) if of_one && self.now - self.wiped_at > LATE => {
                Err(format!("{cluster}: {key}: edit {after} over {before}"))
            }
            _ => Ok(()),
        }
    }

    fn check_each(
        &self,
        grounds: &Grounds<'_>,
        (cluster, key): (&str, &ObjectKey),
        service: &str,
        old: &Value,
        new: Option<&Value>,
    ) -> Result<(), String> {
        let before = version(old, "v");
        match new.map(|new| version(new, "v")) {
            Some(after) if after < before => Err(format!("{cluster}: {key}: version {after} over {before}")),
            None if self.always_since(cluster, service, before) && grounds.has_none(Addon::Each, cluster) => {
                Err(format!("{cluster}: {key} withdrawn, its service was an event all the time"))
            }
            _ => Ok(()),
        }
    }

    /// Only an event takes away what an event led to.
    fn check_sent(
        &self,
        grounds: &Grounds<'_>,
        (cluster, key): (&str, &ObjectKey),
        subject: &str,
        old: &Value,
        new: Option<&Value>,
    ) -> Result<(), String> {
        let before = version(old, "v");
        let mut deleted = self.deleted.iter().filter(|((at, of), _)| *at == cluster && *of == subject);
        match new.map(|new| version(new, "v")) {
            Some(after) if after < before => Err(format!("{cluster}: {key}: event {after} over {before}")),
            None if !deleted.any(|(_, version)| *version > before)
                && grounds.has_none(Addon::Sent, cluster) =>
            {
                Err(format!("{cluster}: {key} withdrawn, no event deletes it"))
            }
            _ => Ok(()),
        }
    }

    fn check_all(
        &self,
        grounds: &Grounds<'_>,
        (cluster, key): (&str, &ObjectKey),
        source: &str,
        old: &Value,
        new: Option<&Value>,
    ) -> Result<(), String> {
        for (service, v) in object::at(old, &["data"]).and_then(Value::as_object).into_iter().flatten() {
            if service == "edit" {
                continue;
            }
            let before = v.as_str().and_then(|v| v.parse::<u64>().ok()).unwrap_or(0);
            let kept = new.filter(|new| object::at(new, &["data", service]).is_some());
            match kept.map(|new| version(new, service)) {
                Some(after) if after < before => {
                    return Err(format!("{cluster}: {key}: {service} has version {after} over {before}"));
                }
                None if self.always_since(source, service, before)
                    && grounds.has_none(Addon::All, source)
                    && grounds.has_none(Addon::All, cluster) =>
                {
                    return Err(format!("{cluster}: {key} lost {service}, which was an event all the time"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A number that an object has in its data.
pub(crate) fn version(object: &Value, field: &str) -> u64 {
    object::text(object, &["data", field]).parse().unwrap_or(0)
}
