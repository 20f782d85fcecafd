//! What this process has sealed, and for whom; and which streams it could not read all of.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use sluice_api::Digest;
use sluice_protocol::subject::NameHash;
use tokio::sync::watch;

use crate::bus::Bus;
use crate::seal::envelope::{KeyId, Sealed};
use crate::seal::keys::Keyring;
use crate::seal::{Audience, Sealing, Shared, ids_of};
use crate::shard::shard_spec::ShardSpec;

/// Large contents kept for the next row that names them, bytes.
const KEPT: usize = 16 << 20;
/// Keys that are waited for because of one stream.
const LACKING: usize = 64;

/// Kept beside the lives of shards.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    /// For whom rows are sealed, by the fence row of who wrote them.
    sealed: HashMap<String, BTreeSet<(Audience, Vec<KeyId>)>>,
    /// By the same, deployers of which rows are sealed for all of their stage: there may be one in the cluster later.
    outside: HashMap<String, HashSet<NameHash>>,
    /// Streams with rows that could not be opened, and keys of which one would have.
    locked: HashMap<String, BTreeSet<KeyId>>,
    /// How often a key has come for rows of a stream.
    unlocked: HashMap<String, u64>,
    /// By the keyed digest of what is in them.
    bodies: HashMap<Digest, Arc<SealedBody>>,
    order: VecDeque<Digest>,
    bytes: usize,
}

/// A large content, which all rows name that have it.
pub(crate) struct SealedBody {
    /// Digest of the ciphertext.
    pub(crate) name: Digest,
    pub(crate) key: Sealed,
    pub(crate) content: Arc<[u8]>,
}

impl std::fmt::Debug for SealedBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SealedBody({})", self.name)
    }
}

// === impl Writers ===

impl Writers {
    /// Rows are sealed for this audience and these keys under this fence row; whether they are the first ones. `deployer` is that of the
    /// row's cluster, if one were in it.
    pub(crate) fn note(
        &mut self,
        fence: &str,
        sealed: &(Audience, Vec<KeyId>),
        deployer: Option<&str>,
    ) -> bool {
        if let Some(deployer) = deployer.filter(|_| sealed.0.is_none()) {
            self.outside.entry(fence.to_owned()).or_default().insert(NameHash::of(&[deployer]));
        }
        self.sealed.entry(fence.to_owned()).or_default().insert(sealed.clone())
    }

    /// No row was, after all.
    pub(crate) fn take_back(&mut self, fence: &str, sealed: &(Audience, Vec<KeyId>)) {
        if let Some(all) = self.sealed.get_mut(fence) {
            all.remove(sealed);
        }
    }

    /// A row of this stream cannot be opened, for lack of one of these keys.
    pub(crate) fn lock(&mut self, stream: &str, ids: &[KeyId]) {
        let lacking = self.locked.entry(stream.to_owned()).or_default();
        // Whoever may write rows may name any keys.
        lacking.extend(ids.iter().take(LACKING.saturating_sub(lacking.len())));
    }

    /// Whether there are rows that cannot be opened.
    pub(crate) fn is_locked(&self) -> bool {
        !self.locked.is_empty()
    }

    /// These keys are here: where a row lacked one of them, its stream is read again.
    pub(crate) fn unlock(&mut self, ring: &Keyring) {
        let come = |ids: &BTreeSet<KeyId>| ids.iter().any(|id| ring.identity(*id).is_some());
        for (stream, _) in self.locked.extract_if(|_, ids| come(ids)) {
            *self.unlocked.entry(stream).or_default() += 1;
        }
    }

    /// A large content that was sealed a short while ago.
    pub(crate) fn body(&self, digest: Digest) -> Option<Arc<SealedBody>> {
        self.bodies.get(&digest).cloned()
    }

    /// A large content is sealed.
    pub(crate) fn keep(&mut self, digest: Option<Digest>, mut key: Sealed) -> Arc<SealedBody> {
        let content: Arc<[u8]> = std::mem::take(&mut key.content).into();
        let body = Arc::new(SealedBody { name: Digest::of(&[&content]), key, content });
        let Some(digest) = digest else { return body };
        self.bytes += body.content.len();
        if let Some(former) = self.bodies.insert(digest, body.clone()) {
            self.bytes -= former.content.len();
        } else {
            self.order.push_back(digest);
        }
        while self.bytes > KEPT {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= self.bodies.remove(&oldest).map_or(0, |body| body.content.len());
        }
        body
    }
}

/// Sees when rows of a shard are to be sealed, or read, anew.
pub(crate) struct SealWatch {
    shared: Option<Arc<Shared>>,
    changed: Option<watch::Receiver<u64>>,
    fences: Vec<String>,
    spec: ShardSpec,
    unlocked: u64,
}

impl SealWatch {
    /// For a shard that begins, under these fence rows.
    pub(crate) fn of(bus: &Bus, spec: &ShardSpec, fences: Vec<String>) -> Self {
        let Sealing(shared) = &bus.sealing;
        let changed = shared.as_ref().map(|shared| shared.changed.subscribe());
        let mut this = Self { shared: shared.clone(), changed, fences, spec: spec.clone(), unlocked: 0 };
        if let Some(shared) = &this.shared {
            let mut writers = shared.writers();
            for fence in &this.fences {
                writers.sealed.remove(fence);
                writers.outside.remove(fence);
            }
        }
        this.unlocked = this.unlocked();
        this
    }

    /// Waits until that is so.
    pub(crate) async fn ended(&mut self) {
        while !self.is_due() {
            let Some(changed) = &mut self.changed else { return std::future::pending().await };
            if changed.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    fn is_due(&self) -> bool {
        let Some(shared) = &self.shared else { return false };
        if self.unlocked() != self.unlocked {
            return true;
        }
        let (table, inside) = (self.spec.outputs.table, shared.deployers_inside());
        let inside: Vec<_> = inside.map(|stage| NameHash::of(&[&stage])).collect();
        let writers = shared.writers();
        let mut outside = self.fences.iter().filter_map(|fence| writers.outside.get(fence));
        if outside.any(|outside| inside.iter().any(|deployer| outside.contains(deployer))) {
            return true;
        }
        let mut sealed = self.fences.iter().filter_map(|fence| writers.sealed.get(fence)).flatten();
        sealed.any(|(audience, ids)| {
            // Whose key is gone is one of many again.
            let audience = audience.clone().filter(|stage| shared.has_key(stage));
            shared.recipients(table, &audience).is_ok_and(|now| ids_of(&now) != *ids)
        })
    }

    fn unlocked(&self) -> u64 {
        let input = self.spec.input.as_ref().map(|input| &input.stream);
        let count = |shared: &Arc<Shared>| shared.writers().unlocked.get(input?).copied();
        self.shared.as_ref().and_then(count).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::seal::envelope::{Identity, encrypt};
    use crate::seal::keys::name;

    fn ring() -> Keyring {
        Keyring::read(&[(name(1), Identity::generate())].into()).unwrap()
    }

    fn id(ring: &Keyring) -> KeyId {
        ring.identities[&1].id
    }

    fn kept(writers: &mut Writers, number: u64, bytes: usize) -> Digest {
        let digest = Digest::of(&[&number.to_le_bytes()]);
        writers.keep(Some(digest), encrypt(&vec![0; bytes], b"").unwrap());
        digest
    }

    #[test]
    fn keys_under_a_fence_are_new_once_and_again_when_no_row_was_sealed_for_them() {
        let (mut writers, sealed) = (Writers::default(), (None, vec![id(&ring())]));
        let note = |writers: &mut Writers, fence| writers.note(fence, &sealed, None);
        assert!(note(&mut writers, "a") && !note(&mut writers, "a") && note(&mut writers, "b"));
        writers.take_back("a", &sealed);
        writers.take_back("nobody", &sealed);
        assert!(note(&mut writers, "a") && !note(&mut writers, "b"));
    }

    #[test]
    fn a_stream_is_read_again_once_when_one_of_the_keys_comes_that_it_lacks() {
        let (mut writers, here, other) = (Writers::default(), ring(), ring());
        writers.lock("S", &[id(&here), id(&ring())]);
        writers.lock("T", &[id(&ring())]);
        writers.unlock(&other);
        assert_eq!(writers.unlocked.get("S"), None, "it lacks another one");
        writers.unlock(&here);
        writers.unlock(&here);
        assert_eq!((writers.unlocked.get("S"), writers.unlocked.get("T")), (Some(&1), None));
        assert!(writers.is_locked(), "T still waits");
    }

    #[test]
    fn who_names_many_keys_fills_no_memory() {
        let mut writers = Writers::default();
        for number in 0..1_000_u64 {
            writers.lock("S", &[format!("{number:016x}").parse().unwrap()]);
        }
        assert_eq!(writers.locked["S"].len(), LACKING);
    }

    #[test]
    fn equal_contents_are_sealed_once_and_those_of_whom_no_digest_is_known_each_time() {
        let mut writers = Writers::default();
        let digest = kept(&mut writers, 1, 10);
        let name = writers.body(digest).unwrap().name;
        assert_eq!(writers.body(digest).unwrap().name, name);
        let apart = writers.keep(None, encrypt(&[0; 10], b"").unwrap());
        assert_ne!(apart.name, name, "the text of no two is the same");
        assert_eq!((writers.bodies.len(), writers.body(Digest::of(&[b"x"])).is_some()), (1, false));
    }

    #[test]
    fn of_large_contents_the_newest_are_kept_as_far_as_there_is_room() {
        let mut writers = Writers::default();
        let all: Vec<Digest> = (0..5).map(|number| kept(&mut writers, number, KEPT / 4)).collect();
        let here: Vec<bool> = all.iter().map(|digest| writers.body(*digest).is_some()).collect();
        // Each is a little larger than what is in it.
        assert_eq!(here, [false, false, true, true, true]);
        assert!(writers.bytes <= KEPT && writers.order.len() == 3);
    }

    #[test]
    fn a_content_that_is_sealed_again_takes_its_own_room() {
        let mut writers = Writers::default();
        kept(&mut writers, 1, 100);
        kept(&mut writers, 1, 50);
        assert_eq!((writers.bytes, writers.order.len()), (12 + 50 + 16, 1));
    }
}
