//! From a request to a chart: where it is, whether it is known already, and what it must be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sluice_api::digest::sveltos_hash;
use sluice_chart::{Chart, LoadLimits};
use sluice_renderer_core::{Access, ChartRequest, ChartState, LoadedChart};

use super::cache::Cache;
use super::failure::Failure;
use super::hosts::Hosts;
use super::http::{Ask, Http, shown};
use super::index::{Indices, authorization};
use super::registry::{Registry, server};
use super::turns::{Bytes, Turns};
use super::{ChartSettings, is_exact};

/// Bytes of an archive.
pub(crate) const ARCHIVE: usize = 100 << 20;
/// An index that is younger than this part of the time after which a chart is looked for again is not asked for again: many
/// charts of one repository are one request.
const FRESH: u32 = 30;
/// What a host says that is of no use may be mended soon.
const MENDED: Duration = Duration::from_secs(30);
/// A turn takes no longer.
const TURN: Duration = Duration::from_secs(180);

/// Fetches charts, with everything that this needs.
pub struct Fetcher {
    http: Http,
    hosts: Hosts,
    indices: Indices,
    cache: Cache,
    turns: Turns,
    mirrors: BTreeMap<String, String>,
    again: Duration,
}

// === impl Fetcher ===

impl Fetcher {
    /// A fetcher that has asked nobody yet.
    pub fn new(settings: ChartSettings) -> Self {
        let ChartSettings { cache, mirrors, hosts, again } = settings;
        let turns = Turns::default();
        let (http, cache) =
            (Http::new(hosts, turns.rooms().clone()), Cache::new(cache, turns.rooms().clone()));
        Self {
            http,
            hosts: Hosts::default(),
            indices: Indices::new(again / FRESH),
            cache,
            turns,
            mirrors,
            again,
        }
    }

    /// What is known of a chart after it was looked for once. For commands, which end: nobody waits for a host that has failed,
    /// and nothing is tried again.
    pub async fn once(&self, request: &ChartRequest) -> ChartState {
        let request = &self.mirrored(request);
        match self.in_turn(request, None).await {
            Ok(chart) => ChartState::there(chart),
            Err(failure) => {
                let limit = failure.limit;
                ChartState { chart: self.kept(request).await, trouble: Some(failure.to_string()), limit }
            }
        }
    }

    /// What may be used before anybody is asked: the chart of this version that is on disk; or of this range of versions, where
    /// that was looked for not longer ago than while a process runs.
    pub(crate) async fn known_already(&self, request: &ChartRequest) -> Option<Arc<LoadedChart>> {
        let request = &self.mirrored(request);
        if !is_exact(&request.version) && self.cache.age(request).await? > self.again {
            return None;
        }
        self.kept(request).await
    }

    /// What is known of a chart after it was looked for, and when to look again. What was known before stays, and what is on
    /// disk serves as long as the repository is away.
    pub(crate) async fn look(
        &self,
        request: &ChartRequest,
        known: Option<Arc<LoadedChart>>,
    ) -> (ChartState, Duration) {
        let request = &self.mirrored(request);
        let server = server(request);
        self.hosts.wait(&server, &request.access).await;
        match self.in_turn(request, known.as_ref()).await {
            Ok(chart) => {
                self.hosts.well(&server, &request.access);
                (ChartState::there(chart), self.again)
            }
            Err(failure) => {
                let (pause, then) = match &failure.server {
                    Some(failed) => (self.hosts.failed(failed, &request.access), "; it is tried again"),
                    None => (MENDED, ""),
                };
                let chart = match known {
                    Some(known) => Some(known),
                    None => self.kept(request).await,
                };
                tracing::debug!(%request, %failure, "a chart cannot be fetched");
                let (trouble, limit) = (Some(format!("{failure}{then}")), failure.limit);
                (ChartState { chart, trouble, limit }, pause)
            }
        }
    }

    /// The request as it is put to the mirror of its repository, where there is one. No password is for a mirror.
    fn mirrored(&self, request: &ChartRequest) -> ChartRequest {
        match self.mirrors.get(&request.repository) {
            Some(mirror) => {
                ChartRequest { repository: mirror.clone(), access: Access::default(), ..request.clone() }
            }
            None => request.clone(),
        }
    }

    /// Fetches a chart when it is its turn.
    async fn in_turn(
        &self,
        request: &ChartRequest,
        known: Option<&Arc<LoadedChart>>,
    ) -> Result<Arc<LoadedChart>, Failure> {
        let server = server(request);
        let _turn = self.turns.wait(&server, &request.access).await;
        // It may be made of many answers, each of which comes in time.
        let fetched = tokio::time::timeout(TURN, self.fetch(request, known)).await;
        fetched.unwrap_or_else(|_| {
            let seconds = TURN.as_secs();
            Err(Failure::server(&server, format!("{request} has not come after {seconds} s")))
        })
    }

    async fn fetch(
        &self,
        request: &ChartRequest,
        known: Option<&Arc<LoadedChart>>,
    ) -> Result<Arc<LoadedChart>, Failure> {
        let is_registry = request.repository.starts_with("oci://");
        let mut registry = Registry::new(&self.http, request);
        let (url, said) = if is_registry {
            (request.repository.clone(), Some(registry.digest().await?))
        } else {
            let found = self.indices.find(&self.http, &self.turns, request).await?;
            (found.url, found.digest)
        };
        if let Some(digest) = &said {
            if let Some(known) = known.filter(|known| known.digest == *digest) {
                self.cache.note(request, digest).await;
                return Ok(known.clone());
            }
            if let Some(bytes) = self.cache.get(request, digest).await {
                self.cache.note(request, digest).await;
                return self.loaded(bytes, digest.clone(), &url).await.map(|(chart, _)| chart);
            }
        }
        let bytes = match &said {
            Some(digest) if is_registry => registry.archive(digest, ARCHIVE).await?,
            _ => self.archive(request, &url).await?,
        };
        let digest = sveltos_hash(&bytes);
        if said.as_ref().is_some_and(|said| *said != digest) {
            return Err(Failure::content(format!(
                "{} is not what its digest says: it was changed, or did not come whole",
                shown(&url)
            )));
        }
        if let Some(known) = known.filter(|known| known.digest == digest) {
            self.cache.note(request, &digest).await;
            return Ok(known.clone());
        }
        let (chart, bytes) = self.loaded(bytes, digest, &url).await?;
        self.cache.put(request, &chart.digest, &bytes).await;
        Ok(chart)
    }

    async fn archive(&self, request: &ChartRequest, url: &str) -> Result<Bytes, Failure> {
        let ask = Ask { authorization: authorization(request), limit: ARCHIVE, ..Ask::default() };
        self.http.get(url, &request.access, &ask).await?.content(url)
    }

    /// What the request led to before this process was.
    async fn kept(&self, request: &ChartRequest) -> Option<Arc<LoadedChart>> {
        let digest = self.cache.noted(request).await?;
        let bytes = self.cache.get(request, &digest).await?;
        self.loaded(bytes, digest, &request.repository).await.ok().map(|(chart, _)| chart)
    }

    /// The chart of an archive, which is given back.
    async fn loaded(
        &self,
        bytes: Bytes,
        digest: String,
        url: &str,
    ) -> Result<(Arc<LoadedChart>, Bytes), Failure> {
        let read = self.turns.read(move || (Chart::from_archive(&bytes, LoadLimits::default()), bytes));
        let (chart, bytes) = read.await?;
        let chart = chart.map_err(|error| Failure::no_chart(shown(url), &error))?;
        Ok((Arc::new(LoadedChart { digest, chart }), bytes))
    }
}
