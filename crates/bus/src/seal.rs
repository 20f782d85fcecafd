//! Sealed rows: what Secrets hold travels the bus, and lies on its disks, so that only those can read it who are to.
//!
//! ```text
//! writer: body ─► codec ─► envelope::encrypt ─► wrapped for each reader ─► row (or `content`, where it is large)
//! reader: row ─► envelope::open, by an identity of its stage ─► codec ─► body
//! keys ── private: a KeyStore, the same for all replicas of a stage
//! recipients ── public: entries of the bucket `sluice`, followed by every writer
//! ```
//!
//! Whether a bus is sealed is fixed when it is made. A row is bound to its subject and digest: moved elsewhere it is refused.

// D-1206: without a reader's key nothing is sent.

pub(crate) mod envelope;
mod keeper;
pub(crate) mod keys;
pub(crate) mod recipients;
pub(crate) mod rotate;
#[cfg(test)]
mod row_tests;
#[cfg(test)]
mod tests;
mod writers;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sluice_api::{Digest, DigestKey};
use sluice_protocol::{Head, Role, Row, Subject, Table};
use sluice_tasks::Kept;
use tokio::sync::{Notify, watch};

use crate::buckets::contents::LARGE;
use crate::buckets::feed::Feed;
use crate::buckets::follow::follow;
use crate::bus::Bus;
use crate::codec::{self, Limit};
use crate::error::BusError;
use crate::layout::{BusOptions, CONFIG};
use crate::seal::envelope::{KeyId, Recipient, SealError};
use crate::seal::keys::{KeyStore, Keyring};
use crate::seal::recipients::{Entries, Recipients, newest, readers};
pub(crate) use crate::seal::writers::SealWatch;
use crate::seal::writers::Writers;

/// Pause before a store that cannot be read is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// How often it is said that rows wait.
const TELL: Duration = Duration::from_secs(60);

/// Where this process has its keys, and whether the bus is sealed.
#[derive(Clone, Debug, Default)]
pub struct BusKeys {
    /// Where the private keys are. A new bus is sealed when whoever makes it has such a place.
    pub store: Option<Arc<dyn KeyStore>>,
    /// Whether it is known to be sealed: it stays so when its streams are made again.
    pub(crate) sealed: bool,
}

/// Seals and opens rows, on a bus where that is done. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sealing(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    role: Role,
    store: Option<Arc<dyn KeyStore>>,
    keys: Mutex<Arc<Keyring>>,
    feed: Feed<String, (String, Entries)>,
    /// Grows when recipients have changed, or a key has come.
    changed: watch::Sender<u64>,
    /// A row could not be opened.
    lacking: Notify,
    writers: Mutex<Writers>,
    /// When people were told that a row waits for its reader's key.
    told: Mutex<Option<Instant>>,
}

/// A row as it is sent.
pub(crate) struct SealedRow {
    pub(crate) payload: Bytes,
    /// Where the content is stored apart: its name, and what to store.
    pub(crate) apart: Option<(Digest, Arc<[u8]>)>,
    /// For whom it is sealed, as its header says.
    pub(crate) ids: String,
}

/// What the bytes of a row are of.
fn context(subject: &Subject, head: &Head, apart: Option<Digest>) -> Vec<u8> {
    let apart = apart.map(|name| name.to_string()).unwrap_or_default();
    format!("{subject}\0{}\0{apart}", head.digest).into_bytes()
}

/// What the bytes of a content are of that several rows may name: they name it by the digest of its ciphertext.
const APART: &[u8] = b"content";

impl BusKeys {
    /// Keys that are kept there.
    pub fn at(store: impl KeyStore + 'static) -> Self {
        Self { store: Some(Arc::new(store)), sealed: false }
    }

    /// Whether a bus that is made anew is sealed.
    pub(crate) fn wants(&self) -> bool {
        self.sealed || self.store.is_some()
    }
}

// === impl Sealing ===

impl Sealing {
    /// What a process needs of a bus that is as `options` say.
    ///
    /// # Errors
    /// When it is sealed, and this process has nowhere to keep a key.
    pub(crate) async fn start(bus: &Bus, options: &BusOptions) -> Result<Self, BusError> {
        if !options.keys.sealed {
            return Ok(Self(None));
        }
        let (role, store) = (options.connection.role.clone(), options.keys.store.clone());
        if store.is_none() && (keys::writes(&role) || matches!(role, Role::Deployer(_))) {
            return Err(BusError::Unsuitable(format!(
                "this bus is sealed, and {role} has no keys; give --bus-keys as the other stages have it"
            )));
        }
        let ring = match &store {
            Some(store) => keys_of(&**store, &role).await,
            None => Keyring::default(),
        };
        let stop = bus.tasks.stop().clone();
        let feed = follow::<Recipients>(bus, format!("KV_{CONFIG}"), vec![recipients::filter()], stop);
        feed.synced().await;
        let shared = Arc::new(Shared {
            role,
            store,
            keys: Mutex::new(Arc::new(ring)),
            feed,
            changed: watch::Sender::new(0),
            lacking: Notify::new(),
            writers: Mutex::default(),
            told: Mutex::default(),
        });
        let (bus, kept) = (bus.clone(), shared.clone());
        bus.tasks.clone().keep(Kept::BusKeys, move || keeper::keep(bus.clone(), kept.clone()));
        Ok(Self(Some(shared)))
    }

    /// What digests of secrets are made with, where they are sealed.
    pub(crate) fn digest_key(&self) -> Option<DigestKey> {
        self.0.as_ref().and_then(|shared| shared.keys().digest.clone())
    }

    /// Whether secrets are sealed.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// A secret row, sealed for all that read its table, written under this fence row; `None` where nothing is sealed.
    ///
    /// # Errors
    /// When one who must read it has no key yet: then nothing is sent.
    pub(crate) fn seal(
        &self,
        fence: &str,
        (subject, head): (&Subject, &Head),
        body: &[u8],
    ) -> Result<Option<SealedRow>, BusError> {
        let Some(shared) = self.0.as_ref().filter(|_| !body.is_empty()) else { return Ok(None) };
        let named = || format!("seal row {subject}");
        let recipients = loop {
            let audience = shared.audience(subject);
            let recipients =
                shared.recipients(subject.table(), &audience).inspect_err(|error| shared.tell(error));
            let recipients = recipients.map_err(BusError::request(named()))?;
            let sealed = (audience, ids_of(&recipients));
            let is_new = shared.writers().note(fence, &sealed, deployer_of(subject).as_deref());
            // Who was told of other recipients meanwhile did not know of this row.
            let (now, table) = (shared.audience(subject), subject.table());
            if now == sealed.0 && shared.recipients(table, &now).is_ok_and(|now| now == recipients) {
                break recipients;
            }
            if is_new {
                shared.writers().take_back(fence, &sealed);
            }
        };
        let sealed = shared.pack((subject, head), body, &recipients).map_err(BusError::request(named()))?;
        Ok(Some(sealed))
    }

    /// The body of a sealed row: `payload` is that of its message, `body` the content where that is stored apart.
    ///
    /// # Errors
    /// Why it cannot be opened, with the remedy.
    pub(crate) fn open(
        &self,
        stream: &str,
        Row { subject, head, .. }: &Row,
        payload: &[u8],
        (apart, body): (Option<Digest>, &[u8]),
    ) -> Result<Arc<[u8]>, String> {
        let ring = self.0.as_ref().map(|shared| shared.keys()).unwrap_or_default();
        let context = context(subject, head, apart);
        let opened = envelope::split(payload.get(1..).unwrap_or_default()).and_then(|(wraps, inline)| {
            let content = if apart.is_some() { (body, APART) } else { (inline, &context[..]) };
            envelope::open((wraps, &context), content, |id| ring.identity(id))
        });
        match opened {
            Ok(packed) => {
                codec::decode(&packed, Limit::from(subject.table())).map_err(|error| error.to_string())
            }
            Err(SealError::NotForUs(ids)) => Err(self.lacks(stream, subject.table(), &ids)),
            Err(error) => Err(error.to_string()),
        }
    }

    /// What is said of a row that nobody here has a key for. It is looked for, and the row read once more when it comes.
    fn lacks(&self, stream: &str, table: Table, ids: &[KeyId]) -> String {
        let readers = readers(table).map_or("nobody", |(stage, _)| stage);
        let stage = self.0.as_ref().map_or(readers.to_owned(), |shared| keys::stage_of(&shared.role));
        if let Some(shared) = &self.0 {
            shared.writers().lock(stream, ids);
            shared.lacking.notify_one();
        }
        format!(
            "it is sealed for keys {}, of which {stage} has none here; put the keys of {stage} where --bus-keys says, it is read as soon as they are there",
            envelope::list(ids)
        )
    }

    /// Which of these rows, found under a fence row with the keys they are sealed for, are to be sealed anew.
    pub(crate) fn stale(&self, fence: &str, found: Vec<(Subject, Vec<KeyId>)>) -> Vec<Subject> {
        let Some(shared) = &self.0 else { return Vec::new() };
        let (mut stale, mut is_new) = (Vec::new(), false);
        for (subject, ids) in found {
            let (audience, deployer) = (shared.audience(&subject), deployer_of(&subject));
            match shared.recipients(subject.table(), &audience) {
                Ok(recipients) if ids_of(&recipients) != ids => {
                    let sealed = (audience, ids_of(&recipients));
                    is_new |= shared.writers().note(fence, &sealed, deployer.as_deref());
                    stale.push(subject);
                }
                _ => is_new |= shared.writers().note(fence, &(audience, ids), deployer.as_deref()),
            }
        }
        // Recipients may have changed meanwhile, when nobody knew of these rows.
        if is_new {
            shared.changed.send_modify(|count| *count += 1);
        }
        stale
    }
}

// D-1216: what is for a cluster that pulls is sealed for that one.
/// A stage that has rows of its own, sealed for no other one of its kind; `None` for those that all replicas of a stage read.
pub(crate) type Audience = Option<String>;

/// The stage of the deployer that may be in the cluster of a row of `desired`.
fn deployer_of(subject: &Subject) -> Option<String> {
    let cluster = subject.cluster().filter(|_| subject.table() == Table::Desired)?;
    Some(keys::stage_of(&Role::Deployer(Some(cluster.clone()))))
}

fn ids_of(recipients: &[Recipient]) -> Vec<KeyId> {
    recipients.iter().map(|recipient| recipient.id).collect()
}

/// The keys of a role, as soon as the store has them.
async fn keys_of(store: &dyn KeyStore, role: &Role) -> Keyring {
    let mut told = false;
    loop {
        match keys::ensure(store, role).await {
            Ok(ring) => return ring,
            Err(error) if !keys::reads(role) && !keys::writes(role) => {
                tracing::warn!(error, "there are no keys for who looks: rows with Secrets are not shown");
                return Keyring::default();
            }
            Err(error) if !told => {
                tracing::warn!(error, "the keys of {role} can be neither read nor made; it waits for them");
                told = true;
            }
            Err(error) => tracing::debug!(error, "still waiting for the keys of {role}"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

// === impl Shared ===

impl Shared {
    fn keys(&self) -> Arc<Keyring> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn writers(&self) -> MutexGuard<'_, Writers> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says from time to time why rows with Secrets are not sent.
    fn tell(&self, why: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|at| at.elapsed() > TELL) {
            tracing::warn!(why, "rows with Secrets wait");
            *told = Some(Instant::now());
        }
    }

    /// Who alone reads a row besides those who look: the deployer in its cluster, where it has said which key it reads with.
    fn audience(&self, subject: &Subject) -> Audience {
        deployer_of(subject).filter(|stage| self.has_key(stage))
    }

    fn has_key(&self, stage: &String) -> bool {
        self.feed.get(stage).is_some_and(|(_, entries)| newest(&entries).is_some())
    }

    /// The stages of deployers that are in their clusters, and have said which key they read with.
    fn deployers_inside(&self) -> impl Iterator<Item = String> {
        let is_inside = |stage: &String, (_, entries): &(String, Entries)| {
            stage.starts_with(recipients::INSIDE) && newest(entries).is_some()
        };
        self.feed.keys_where(is_inside).into_iter()
    }

    /// For whom rows of a table are sealed now, with this audience.
    fn recipients(&self, table: Table, audience: &Audience) -> Result<Vec<Recipient>, String> {
        let Some((must, may)) = readers(table) else { return Err(format!("nobody reads {}", table.name())) };
        let must = audience.as_deref().unwrap_or(must);
        let newest = |stage: &str| self.feed.get(&stage.to_owned()).and_then(|(_, entries)| newest(&entries));
        let first = newest(must).ok_or_else(|| {
            format!("no {must} has said yet which key it reads with; start one with --bus-keys")
        })?;
        Ok([first].into_iter().chain(may.iter().filter_map(|stage| newest(stage))).collect())
    }

    fn pack(
        &self,
        (subject, head): (&Subject, &Head),
        body: &[u8],
        recipients: &[Recipient],
    ) -> Result<SealedRow, String> {
        let told = |error: SealError| error.to_string();
        let ids = envelope::list(&ids_of(recipients));
        let mut payload = vec![codec::SEALED];
        if body.len() <= LARGE {
            let context = context(subject, head, None);
            let sealed = envelope::encrypt(&codec::encode(body), &context).map_err(told)?;
            sealed.wrap(recipients, &context, &mut payload).map_err(told)?;
            payload.extend_from_slice(&sealed.content);
            return Ok(SealedRow { payload: payload.into(), apart: None, ids });
        }
        let digest = self.keys().digest.as_ref().map(|key| key.digest(&[body]));
        let kept = digest.and_then(|digest| self.writers().body(digest));
        let kept = match kept {
            Some(kept) => kept,
            None => {
                let sealed = envelope::encrypt(&codec::encode(body), APART).map_err(told)?;
                self.writers().keep(digest, sealed)
            }
        };
        let context = context(subject, head, Some(kept.name));
        kept.key.wrap(recipients, &context, &mut payload).map_err(told)?;
        Ok(SealedRow { payload: payload.into(), apart: Some((kept.name, kept.content.clone())), ids })
    }
}
