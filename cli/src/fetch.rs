//! Charts of repositories, for commands that render: each is fetched once.

use std::collections::BTreeMap;
use std::fmt;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_dryrun::{NoRepositories, Repositories};
use sluice_kube::outside::OwnHosts;
use sluice_renderer::{ChartSettings, Fetcher};
use sluice_renderer_core::{ChartRequest, ChartState};
use tokio::runtime::Runtime;

/// Whether and how a command fetches charts.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Fetching {
    /// Fetch charts that are not in `sources/` from their repositories.
    #[arg(long)]
    fetch: bool,
    #[command(flatten)]
    cache: Kept,
}

/// Where fetched charts are kept.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Kept {
    /// Keep fetched charts in this folder, at most 2 GiB, and use them while their repository is away.
    #[arg(long, value_name = "DIR", env = "SLUICE_CHART_CACHE")]
    chart_cache: Option<PathBuf>,
}

/// The repositories themselves. It has a runtime of its own, on which nothing else runs, so that it may be asked from anywhere.
pub(crate) struct Remote {
    fetcher: Fetcher,
    runtime: Runtime,
    known: Mutex<BTreeMap<ChartRequest, ChartState>>,
}

// === impl Fetching ===

impl Fetching {
    /// Whether charts are to be fetched.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.fetch
    }

    pub(crate) fn repositories(&self) -> anyhow::Result<Arc<dyn Repositories>> {
        Ok(if self.fetch { Arc::new(Remote::new(&self.cache)?) } else { Arc::new(NoRepositories) })
    }
}

// === impl Remote ===

impl Remote {
    pub(crate) fn new(kept: &Kept) -> anyhow::Result<Self> {
        sluice_runtime::install_defaults()?;
        // What is named here is asked from the machine of who has named it, as he could ask it himself.
        let (cache, hosts) = (kept.chart_cache.clone(), OwnHosts::All);
        let settings = ChartSettings { cache, hosts, ..ChartSettings::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { fetcher: Fetcher::new(settings), runtime, known: Mutex::default() })
    }
}

impl Repositories for Remote {
    fn fetch(&self, request: &ChartRequest) -> ChartState {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = known.get(request) {
            return state.clone();
        }
        if std::io::stderr().is_terminal() {
            eprintln!("fetching {request}");
        }
        // A thread may wait for one runtime only, and this one may be of another.
        let work = || self.runtime.block_on(self.fetcher.once(request));
        let state = std::thread::scope(|scope| scope.spawn(work).join());
        let state = state.unwrap_or_else(|_| ChartState::failed("fetching it ended in a panic"));
        known.insert(request.clone(), state.clone());
        state
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}
