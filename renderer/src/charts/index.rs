//! Repositories with an index: `index.yaml` says which charts there are, where they are and what their digests are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use sluice_chart::best_version;
use sluice_renderer_core::{Access, ChartRequest};
use tokio::time::Instant;

use super::failure::Failure;
use super::http::{Ask, Authorization, Http, basic, joined, shown};
use super::turns::Turns;

/// Bytes of an index.
const LIMIT: usize = 64 << 20;
/// Bytes of what is kept of all indices.
const KEPT: usize = 64 << 20;
/// Bytes that an entry takes besides its texts.
const ENTRY: usize = 200;
/// Bytes of what an answer is called.
const LONGEST_NAME: usize = 1 << 10;

/// Where a chart is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) url: String,
    /// `sha256:…`, where the index says it.
    pub(crate) digest: Option<String>,
}

/// Indices by repository and who asks.
pub(crate) struct Indices {
    known: Mutex<HashMap<Key, (Slot, Instant)>>,
    /// One that is younger is not asked for again.
    fresh: Duration,
}

type Key = (String, Access);

/// One index, held by who is asking for it.
type Slot = Arc<tokio::sync::Mutex<Option<Cached>>>;

struct Cached {
    index: Arc<Index>,
    etag: Option<String>,
    at: Instant,
}

/// What of an index is looked at: entries by the names of charts.
#[derive(Default)]
struct Index {
    charts: HashMap<String, Vec<Entry>>,
    /// About what it takes of memory.
    bytes: usize,
}

struct Entry {
    version: String,
    url: Option<String>,
    digest: Option<String>,
}

// === impl Indices ===

impl Indices {
    pub(crate) fn new(fresh: Duration) -> Self {
        Self { known: Mutex::default(), fresh }
    }

    /// Where the chart is that is asked for.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub(crate) async fn find(
        &self,
        http: &Http,
        turns: &Turns,
        request: &ChartRequest,
    ) -> Result<Found, Failure> {
        let url = format!("{}/index.yaml", request.repository);
        let index = self.index(http, turns, &url, request).await;
        self.trim(KEPT);
        chosen(&*index?, &url, request)
    }

    async fn index(
        &self,
        http: &Http,
        turns: &Turns,
        url: &str,
        request: &ChartRequest,
    ) -> Result<Arc<Index>, Failure> {
        let slot = self.slot((url.to_owned(), request.access.clone()));
        let mut held = slot.lock().await;
        let ask = Ask {
            authorization: authorization(request),
            known: held.as_ref().and_then(|held| held.etag.clone()),
            limit: LIMIT,
            ..Ask::default()
        };
        if let Some(held) = held.as_ref().filter(|held| held.at.elapsed() < self.fresh) {
            return Ok(held.index.clone());
        }
        let answer = http.get(url, &request.access, &ask).await?;
        if let (304, Some(held)) = (answer.status.as_u16(), held.as_mut()) {
            held.at = Instant::now();
            return Ok(held.index.clone());
        }
        let etag = answer.etag().filter(|etag| etag.len() <= LONGEST_NAME);
        let bytes = answer.content(url)?;
        let index = turns.read(move || Index::read(&bytes)).await?;
        let index = index
            .map_err(|error| Failure::content(format!("{} is no index of charts: {error}", shown(url))))?;
        let index = Arc::new(index);
        *held = Some(Cached { index: index.clone(), etag, at: Instant::now() });
        Ok(index)
    }

    fn slot(&self, key: Key) -> Slot {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (slot, used) = known.entry(key).or_insert_with(|| (Slot::default(), Instant::now()));
        *used = Instant::now();
        slot.clone()
    }

    /// Forgets what was not used for longest, until no more than this is kept. What somebody asks for just now stays.
    fn trim(&self, most: usize) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let held = known.iter().filter_map(|(key, (slot, used))| Some((*used, weight(key, slot)?, key)));
        let mut size: usize = held.clone().map(|(_, bytes, _)| bytes).sum();
        if size <= most {
            return;
        }
        let mut all: Vec<_> = held.map(|(used, bytes, key)| (used, bytes, key.clone())).collect();
        all.sort();
        for (_, bytes, key) in all {
            if size <= most {
                break;
            }
            known.remove(&key);
            size = size.saturating_sub(bytes);
        }
    }
}

/// About what an index takes of memory; nothing is said of one that is asked for just now.
fn weight(key: &Key, slot: &Slot) -> Option<usize> {
    let held = slot.try_lock().ok()?;
    let ca = key.1.ca.as_ref().map_or(0, String::len);
    Some(held.as_ref().map_or(0, |held| held.index.bytes) + ENTRY + key.0.len() + ca)
}

// === impl Index ===

impl Index {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let documents = sluice_api::yaml::documents(&String::from_utf8_lossy(bytes))
            .map_err(|error| error.to_string())?;
        let mut index = Self::default();
        let charts = documents.first().and_then(|index| index.get("entries")).and_then(Value::as_object);
        for (name, entries) in charts.into_iter().flatten() {
            let Some(entries) = entries.as_array() else { continue };
            let entries: Vec<Entry> = entries.iter().map(Entry::read).collect();
            index.bytes += ENTRY + name.len() + entries.iter().map(Entry::bytes).sum::<usize>();
            index.charts.insert(name.clone(), entries);
        }
        Ok(index)
    }
}

// === impl Entry ===

impl Entry {
    fn read(entry: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        Self {
            version: text(entry.get("version")).unwrap_or_default(),
            url: text(entry.get("urls").and_then(|urls| urls.get(0))),
            digest: text(entry.get("digest")),
        }
    }

    fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        ENTRY + self.version.len() + length(&self.url) + length(&self.digest)
    }
}

fn chosen(index: &Index, url: &str, request: &ChartRequest) -> Result<Found, Failure> {
    let none = |what: &str| {
        Err(Failure::content(format!("{} has {what}; correct the name or the version", shown(url))))
    };
    let Some(entries) = index.charts.get(&request.name) else {
        return none(&format!("no chart {:?}", request.name));
    };
    let best = best_version(&request.version, entries.iter().map(|entry| entry.version.as_str()));
    let Some(entry) = best.and_then(|best| entries.iter().find(|entry| entry.version == best)) else {
        return none(&format!("no version {:?} of {:?}", request.version, request.name));
    };
    let Some(link) = &entry.url else {
        return none(&format!("no address for {} {}", request.name, entry.version));
    };
    let digest = entry.digest.as_ref().filter(|digest| !digest.is_empty());
    let digest = digest.map(|digest| format!("sha256:{}", digest.trim_start_matches("sha256:")));
    Ok(Found { url: joined(url, link), digest })
}

/// Who asks, for the repository: its password is for no other host.
pub(crate) fn authorization(request: &ChartRequest) -> Option<Authorization> {
    request.access.login.as_ref().map(|login| Authorization::new(&request.repository, basic(login)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[tokio::test]
    async fn of_many_indices_those_are_kept_that_were_used_last() {
        let indices = Indices::new(Duration::ZERO);
        let key = |at: usize| (format!("https://h{at}"), Access::default());
        let put = async |at: usize| {
            let index = Index::read(b"entries: {web: [{version: 1.2.0, urls: [web.tgz]}]}").unwrap();
            let held = Cached { index: Arc::new(index), etag: None, at: Instant::now() };
            *indices.slot(key(at)).lock().await = Some(held);
        };
        for at in 0..10 {
            put(at).await;
        }
        let slot = indices.slot(key(1));
        let asked = slot.lock().await;
        indices.slot(key(2));
        indices.trim(3 * 700);
        let mut left: Vec<String> =
            indices.known.lock().unwrap().keys().map(|(url, _)| url.clone()).collect();
        left.sort();
        assert_eq!(left, ["https://h1", "https://h2", "https://h8", "https://h9"]);
        drop(asked);
        indices.trim(0);
        assert!(indices.known.lock().unwrap().is_empty());
    }
}
