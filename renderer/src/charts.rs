//! Charts that are asked for: each is fetched once for all shards and causes of this process, and looked for again every five
//! minutes.
//!
//! ```text
//! shards ─► Charts ─► one task for each chart ─► Fetcher ─┬─► index  (http, https) ─┐
//!                                                         └─► registry (oci) ───────┼─► Http
//!                                                               Cache (disk) ◄──────┘
//! ```

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_kube::outside::OwnHosts;
use sluice_protocol::Shard;
use sluice_renderer_core::{ChartRequest, ChartState, ExternalInput};
use sluice_tasks::{End, Group, Kept, Tasks};
use tokio::sync::mpsc;

pub use self::fetcher::Fetcher;

mod cache;
mod failure;
mod fetcher;
mod hosts;
mod http;
mod index;
mod registry;
mod turns;

/// After this long a chart is looked for again: its version may be a range, or a tag that has moved.
const LOOK_AGAIN: Duration = Duration::from_secs(300);

/// The argument that names hosts of the own network.
pub(crate) const CHART_HOSTS: &str = "--chart-hosts";

/// Unbounded, as every input of a shard: the core only updates its memory.
type Sender = mpsc::UnboundedSender<ExternalInput>;

/// How charts are fetched.
#[derive(Clone, Debug)]
pub struct ChartSettings {
    /// The folder in which they are kept, at most 2 GiB; without it they are fetched again after a restart.
    pub cache: Option<PathBuf>,
    /// Who is asked in place of a repository, by the repository's address: an address of `index.yaml` without that name.
    pub mirrors: BTreeMap<String, String>,
    /// Whom tenants may name in the own network.
    pub hosts: OwnHosts,
    /// After how long a chart is looked for again; tests do not wait for so long.
    pub again: Duration,
}

impl Default for ChartSettings {
    fn default() -> Self {
        let hosts = OwnHosts::named(CHART_HOSTS, []);
        Self { cache: None, mirrors: BTreeMap::new(), hosts, again: LOOK_AGAIN }
    }
}

/// Bytes of memory of all charts that somebody asks for.
const TOGETHER: usize = 1 << 30;

/// All charts of a process. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Charts {
    fetcher: Arc<Fetcher>,
    tasks: Tasks,
    asked: Arc<Mutex<BTreeMap<ChartRequest, Asked>>>,
}

/// What one shard asks for. It ends when this is dropped.
pub(crate) struct Asking {
    charts: Charts,
    shard: Shard,
    sender: Sender,
}

/// One chart.
struct Asked {
    readers: HashMap<Shard, Sender>,
    known: Option<ChartState>,
    _task: Group,
}

/// The charts of all other requests, each once, and this one take no more memory than they may together: one that does not
/// fit is not kept, and what was kept of it before stays.
fn fitting(
    all: &BTreeMap<ChartRequest, Asked>,
    request: &ChartRequest,
    state: ChartState,
    together: usize,
) -> ChartState {
    let Some(chart) = &state.chart else { return state };
    let mut others: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, asked) in all.iter().filter(|(other, _)| *other != request) {
        let kept = asked.known.as_ref().and_then(|known| known.chart.as_ref());
        others.extend(kept.map(|kept| (&*kept.digest, kept.chart.bytes())));
    }
    others.remove(&*chart.digest);
    let (taken, more) = (others.values().sum::<usize>(), chart.chart.bytes());
    if taken + more <= together {
        return state;
    }
    let known = all.get(request).and_then(|asked| asked.known.as_ref());
    let text = format!(
        "the charts that are in use take {taken} bytes of memory, this one {more}, and they may take {together} together; take away profiles \
         that deploy charts, or charts that are large"
    );
    ChartState { chart: known.and_then(|known| known.chart.clone()), ..ChartState::failed(text) }
}

// === impl Charts ===

impl Charts {
    /// Charts that nobody has asked for.
    pub(crate) fn new(settings: ChartSettings, tasks: Tasks) -> Self {
        Self { fetcher: Arc::new(Fetcher::new(settings)), tasks, asked: Arc::default() }
    }

    /// What `shard` will ask for; it is told of it through `sender`.
    pub(crate) fn asking(&self, shard: Shard, sender: Sender) -> Asking {
        Asking { charts: self.clone(), shard, sender }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ChartRequest, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches a chart again and again until what is returned is dropped.
    fn begin(&self, request: &ChartRequest) -> Group {
        let group = self.tasks.group(&request.to_string());
        let (charts, request) = (self.clone(), request.clone());
        group.keep(Kept::Chart, move || {
            let (charts, request) = (charts.clone(), request.clone());
            async move {
                charts.follow(&request).await;
                End::Done
            }
        });
        group
    }

    async fn follow(&self, request: &ChartRequest) {
        if self.known(request).is_none()
            && let Some(kept) = self.fetcher.known_already(request).await
            && !self.tell(request, ChartState::there(kept))
        {
            return;
        }
        loop {
            let known = self.known(request);
            let (state, pause) = self.fetcher.look(request, known.and_then(|known| known.chart)).await;
            if !self.tell(request, state) {
                return;
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn known(&self, request: &ChartRequest) -> Option<ChartState> {
        self.lock().get(request).and_then(|asked| asked.known.clone())
    }

    /// Takes what has become known of a chart; whether anybody still asks for it.
    fn tell(&self, request: &ChartRequest, state: ChartState) -> bool {
        let mut all = self.lock();
        let state = fitting(&all, request, state, TOGETHER);
        let Some(asked) = all.get_mut(request) else { return false };
        if asked.known.as_ref() != Some(&state) {
            asked.readers.values().for_each(|reader| send(reader, request, state.clone()));
            asked.known = Some(state);
        }
        true
    }
}

// === impl Asking ===

impl Asking {
    /// Begins to tell of this chart.
    pub(crate) fn fetch(&self, request: ChartRequest) {
        let mut all = self.charts.lock();
        if !all.contains_key(&request) {
            let asked = Asked { readers: HashMap::new(), known: None, _task: self.charts.begin(&request) };
            all.insert(request.clone(), asked);
        }
        let Some(asked) = all.get_mut(&request) else { return };
        asked.readers.insert(self.shard, self.sender.clone());
        if let Some(known) = &asked.known {
            send(&self.sender, &request, known.clone());
        }
    }

    /// Tells of this chart no more.
    pub(crate) fn unfetch(&self, request: &ChartRequest) {
        let mut all = self.charts.lock();
        let Some(asked) = all.get_mut(request) else { return };
        asked.readers.remove(&self.shard);
        if asked.readers.is_empty() {
            all.remove(request);
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.charts.lock().retain(|_, asked| {
            asked.readers.remove(&self.shard);
            !asked.readers.is_empty()
        });
    }
}

/// Whether this is one version, and no range of versions.
fn is_exact(version: &str) -> bool {
    let number = version.split(['-', '+']).next().unwrap_or_default();
    number.split('.').count() == 3
        && number.trim_start_matches('v').split('.').all(|part| part.parse::<u64>().is_ok())
}

fn send(reader: &Sender, request: &ChartRequest, state: ChartState) {
    if reader.send(ExternalInput::Chart(request.clone(), state)).is_err() {
        tracing::debug!(%request, "a shard that asked for this has ended");
    }
}

#[cfg(test)]
mod tests;
