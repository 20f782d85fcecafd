//! The API server of one managed cluster: what users put there, what the deployer applies, and the log that
//! watches read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_agent_core::{Seen, WatchSpec};
use sluice_api::{Digest, Gvk, ObjectKey, ProfileId};
use sluice_deployer_core::{
    Class, Failure, Inventory, KeptBody, Live, MANAGER, Reply, Request, Stored, Version, content_digest,
    own_fields,
};

use self::applied::Applied;
use crate::refusals::Refusals;

mod applied;
pub(crate) mod others;

/// One API server, with everything that is in its cluster.
#[derive(Default)]
pub(crate) struct ApiServer {
    /// What users put there, by name.
    pub(crate) services: BTreeMap<String, Service>,
    /// Every change of a service: its key, and the object unless it was deleted.
    pub(crate) log: Vec<(ObjectKey, Option<Service>)>,
    /// CloudEvents that were sent to the cluster. They are with the bus, and nothing that happens to the cluster or to tables
    /// happens to them.
    pub(crate) sent: Vec<SentEvent>,
    /// What was applied.
    pub(crate) applied: Applied,
    /// Objects of which a user took the marks: nobody may delete them.
    pub(crate) adopted: BTreeSet<ObjectKey>,
    /// It does not answer before.
    pub(crate) away_until: i64,
    /// Checks fail in it from then until then.
    pub(crate) ill: (i64, i64),
    /// Grows with every new kubeconfig of the cluster.
    pub(crate) way: u64,
    /// The first way that leads to the server that is there now.
    pub(crate) born: u64,
    /// Deleted objects that a finalizer holds, and until when.
    held: Vec<(i64, ObjectKey)>,
    /// What somebody else has deleted of it, with its uid. A watch shows that also of an object that it had not shown yet.
    pub(crate) missing: Vec<(ObjectKey, String)>,
    /// How often somebody else has changed what is deployed.
    changes: u32,
    /// What it refuses for a while.
    pub(crate) refusals: Refusals,
    /// What deployers say that profiles own.
    pub(crate) inventories: BTreeMap<ProfileId, Stored>,
    /// What they keep of profiles, by the digest of its row.
    kept: BTreeMap<ProfileId, BTreeMap<Digest, KeptBody>>,
    /// Inventories in a form that deployers of the older version cannot read.
    newer: BTreeSet<ProfileId>,
    version: u64,
}

/// A service, and how watches show it.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) object: Arc<Value>,
    pub(crate) seen: Seen,
}

impl ApiServer {
    /// For how long checks have failed.
    pub(crate) fn ill_for(&self, now: i64) -> Option<i64> {
        let (since, until) = self.ill;
        (until > now).then_some(now - since)
    }
}

impl Service {
    /// Whether a watch shows it.
    pub(crate) fn is_shown(&self, spec: &WatchSpec) -> bool {
        let WatchSpec { scope, .. } = spec;
        scope.gvk == self.seen.key.gvk && scope.selects(&self.object) && spec.wants(&self.object)
    }
}

/// A CloudEvent: what it is about, its type, its number and when it was sent.
#[derive(Clone, Debug)]
pub(crate) struct SentEvent {
    pub(crate) subject: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) version: u64,
    pub(crate) time: i64,
}

impl SentEvent {
    /// As it is written.
    pub(crate) fn object(&self) -> Value {
        json!({"specversion": "1.0", "id": self.version.to_string(), "source": "/simulation", "subject": self.subject,
            "type": self.kind})
    }
}

/// The one object that a call changed.
pub(crate) struct Written {
    pub(crate) key: ObjectKey,
    pub(crate) old: Option<Arc<Value>>,
    pub(crate) new: Option<Arc<Value>>,
}

/// The key of a service.
pub(crate) fn service_key(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "default".into(), name: name.into() }
}

impl ApiServer {
    /// Creates or changes a service; whether it was new.
    pub(crate) fn put_service(&mut self, name: &str, v: u64, event: bool, gold: bool) -> bool {
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default",
            "labels": {"event": yes(event), "gold": yes(gold)}, "annotations": {"v": v.to_string()}}});
        let seen = Seen { key: service_key(name), body: object.to_string().into_bytes().into() };
        let service = Service { object: Arc::new(object), seen };
        self.log.push((service_key(name), Some(service.clone())));
        self.services.insert(name.to_owned(), service).is_none()
    }

    /// Deletes a service; whether there was one.
    pub(crate) fn delete_service(&mut self, name: &str) -> bool {
        let was = self.services.remove(name).is_some();
        if was {
            self.log.push((service_key(name), None));
        }
        was
    }

    /// What a watch lists.
    pub(crate) fn list(&self, spec: &WatchSpec) -> Vec<Seen> {
        let shown = self.services.values().filter(|service| service.is_shown(spec));
        shown.map(|service| service.seen.clone()).collect()
    }

    /// The cluster gets another kubeconfig; it may lead to another server, on which nobody has applied anything.
    pub(crate) fn change_way(&mut self, swap: bool) {
        self.way += 1;
        if swap {
            self.born = self.way;
            self.applied.clear();
            self.inventories.clear();
            self.kept.clear();
            self.newer.clear();
            self.held.clear();
            self.adopted.clear();
            self.refusals = Refusals::default();
        }
    }

    /// Profiles of which former contents are kept.
    pub(crate) fn keeps(&self) -> impl Iterator<Item = &ProfileId> {
        self.kept.iter().filter(|(_, contents)| !contents.is_empty()).map(|(profile, _)| profile)
    }

    /// A user takes the marks of its owner off one of the objects; which one.
    pub(crate) fn adopt(&mut self, index: usize) -> Option<ObjectKey> {
        let all = self.applied.iter().map(|(key, object)| (key.clone(), Live::of(object)));
        let (key, live) = all.filter(|(_, live)| live.owner.is_some() && !live.going).nth(index)?;
        self.release(&key, &live.version());
        self.adopted.insert(key.clone());
        Some(key)
    }

    /// Finalizers let go what they have held long enough, and what was refused is allowed again.
    pub(crate) fn pass_time(&mut self, now: i64) {
        self.refusals.pass_time(now);
        for (_, key) in self.held.extract_if(.., |(until, _)| *until <= now) {
            self.applied.remove(&key);
        }
    }

    /// Carries out a deployer's call, and tells which object it changed. The caller has checked its lease; what is
    /// deleted is held by a finalizer until `held`, when there is such a time.
    pub(crate) fn call(&mut self, request: &Request, held: Option<i64>) -> (Reply, Option<Written>) {
        let reply = match request {
            Request::Inventories => Reply::Inventories(self.inventories.values().cloned().collect()),
            Request::List(gvk) => {
                let same = self.applied.iter().filter(|(key, _)| key.gvk == *gvk);
                Reply::Listed(same.map(|(key, object)| (key.clone(), Live::of(object))).collect())
            }
            Request::Prove { .. } | Request::RehearseDelete { .. } => Reply::Done,
            Request::Rehearse { .. } => Reply::Rehearsed { exists: false, difference: None },
            Request::Read(key) => Reply::Read(self.applied.get(key).map(|object| Live::of(object))),
            Request::Along { .. } => Reply::Along(None),
            Request::Content(key) => {
                let found = self.applied.get(key);
                Reply::Content(found.map(|object| (Live::of(object).version(), content_digest(object))))
            }
            Request::Apply { object, against, watched, .. } => {
                let (reply, written) = self.apply(object, against.as_ref());
                return match reply {
                    Reply::Applied(live) if !watched => {
                        (Reply::Applied(Live { fields: None, ..live }), written)
                    }
                    reply => (reply, written),
                };
            }
            Request::Delete { key, against, .. } => match self.applied.get(key) {
                None => Reply::Done,
                Some(object) if Live::of(object).version() == *against => {
                    return (Reply::Done, Some(self.delete(key, held)));
                }
                Some(_) => conflict(),
            },
            Request::Release { key, against, .. } => return self.release(key, against),
            Request::ReadInventory(profile) => Reply::Inventory(self.inventories.get(profile).cloned()),
            Request::WriteInventory { inventory, against } => self.write(inventory, against.as_ref()),
            Request::DeleteInventory { profile, against } => match self.inventories.get(profile) {
                Some(stored) if stored.version != *against => conflict(),
                _ => {
                    self.inventories.remove(profile);
                    Reply::Done
                }
            },
            Request::Keep { profile, row, body, good } => {
                let kept = self.kept.entry(profile.clone()).or_default();
                kept.retain(|other, _| Some(*other) == *good);
                kept.insert(*row, body.clone());
                Reply::Done
            }
            Request::ReadKept { profile, row } => {
                Reply::Kept(self.kept.get(profile).and_then(|kept| kept.get(row)).cloned())
            }
            Request::DropKept(profile) => {
                self.kept.remove(profile);
                Reply::Done
            }
        };
        (reply, None)
    }

    /// What a deployer of the newer or the older version makes of an answer: what the latter cannot read it leaves alone.
    pub(crate) fn note_form(&mut self, request: &Request, reply: Reply, newer: bool) -> Reply {
        match (request, reply) {
            (Request::WriteInventory { inventory, .. }, reply @ Reply::Written(_)) => {
                if newer {
                    self.newer.insert(inventory.id());
                } else {
                    self.newer.remove(&inventory.id());
                }
                reply
            }
            (Request::Inventories, Reply::Inventories(mut all)) if !newer => {
                all.retain(|stored| !self.newer.contains(&stored.inventory.id()));
                Reply::Inventories(all)
            }
            (Request::ReadInventory(profile), Reply::Inventory(Some(_)))
                if !newer && self.newer.contains(profile) =>
            {
                Reply::Failed(Failure::new(Class::Refused, "the inventory cannot be read"))
            }
            (_, reply) => reply,
        }
    }

    fn delete(&mut self, key: &ObjectKey, held: Option<i64>) -> Written {
        let old = self.applied.remove(key);
        if let (Some(old), Some(until)) = (&old, self.going(key).or(held)) {
            self.version += 1;
            let mut going = (**old).clone();
            going["metadata"]["resourceVersion"] = self.version.to_string().into();
            if !Live::of(old).going {
                going["metadata"]["deletionTimestamp"] = until.to_string().into();
                self.held.push((until, key.clone()));
            }
            self.applied.insert(key.clone(), Arc::new(going));
        }
        Written { key: key.clone(), old, new: None }
    }

    fn release(&mut self, key: &ObjectKey, against: &Version) -> (Reply, Option<Written>) {
        let Some(old) =
            self.applied.get(key).filter(|object| Live::of(object).version() == *against).cloned()
        else {
            return (conflict(), None);
        };
        self.version += 1;
        let mut object = (*old).clone();
        sluice_api::marks::take(&mut object);
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let new = Arc::new(object);
        self.applied.insert(key.clone(), new.clone());
        (Reply::Done, Some(Written { key: key.clone(), old: Some(old), new: Some(new) }))
    }

    fn write(&mut self, inventory: &Arc<Inventory>, against: Option<&Version>) -> Reply {
        let id = inventory.id();
        let known = self.inventories.get(&id).map(|stored| &stored.version);
        if known != against {
            return conflict();
        }
        self.version += 1;
        let uid = known.map_or_else(|| format!("u{}", self.version), |(uid, _)| uid.clone());
        let version = (uid, self.version.to_string());
        let stored = Stored { inventory: inventory.clone(), version: version.clone() };
        self.inventories.insert(id, stored);
        Reply::Written(version)
    }

    /// Until when a finalizer holds a deleted object.
    fn going(&self, key: &ObjectKey) -> Option<i64> {
        self.held.iter().find(|(_, held)| held == key).map(|(until, _)| *until)
    }

    fn apply(&mut self, object: &Value, against: Option<&(String, String)>) -> (Reply, Option<Written>) {
        let Some(key) = ObjectKey::of(object) else { return (conflict(), None) };
        let (known, going) =
            (self.applied.get(&key).map(|object| Live::of(object).version()), self.going(&key));
        if against != known.as_ref() {
            return (conflict(), None);
        }
        self.version += 1;
        let mut object = object.clone();
        if let Some(until) = going {
            object["metadata"]["deletionTimestamp"] = until.to_string().into();
        }
        object["metadata"]["uid"] = known.map_or_else(|| format!("u{}", self.version), |(uid, _)| uid).into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let data = object.get("data").map(Value::to_string).unwrap_or_default();
        let entry = json!({"manager": MANAGER, "operation": "Apply", "fieldsV1": {format!("f:{data}"): {}}});
        object["metadata"]["managedFields"] = json!([entry]);
        let live = Live { fields: own_fields(&object["metadata"]), ..Live::of(&object) };
        let new = Arc::new(object);
        self.adopted.remove(&key);
        let old = self.applied.insert(key.clone(), new.clone());
        (Reply::Applied(live), Some(Written { key, old, new: Some(new) }))
    }
}

fn conflict() -> Reply {
    Reply::Failed(Failure::new(Class::Conflict, "the object has been modified"))
}
