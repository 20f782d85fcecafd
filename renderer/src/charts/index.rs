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

/// Bytes of an index.
const LIMIT: usize = 64 << 20;

/// Where a chart is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) url: String,
    /// `sha256:…`, where the index says it.
    pub(crate) digest: Option<String>,
}

/// Indices by repository and who asks.
pub(crate) struct Indices {
    known: Mutex<HashMap<(String, Access), Slot>>,
    /// One that is younger is not asked for again.
    fresh: Duration,
}

/// One index, held by who is asking for it.
type Slot = Arc<tokio::sync::Mutex<Option<Held>>>;

struct Held {
    index: Arc<Value>,
    etag: Option<String>,
    at: Instant,
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
    pub(crate) async fn find(&self, http: &Http, request: &ChartRequest) -> Result<Found, Failure> {
        let url = format!("{}/index.yaml", request.repository);
        let index = self.index(http, &url, request).await?;
        chosen(&index, &url, request)
    }

    async fn index(&self, http: &Http, url: &str, request: &ChartRequest) -> Result<Arc<Value>, Failure> {
        let key = (url.to_owned(), request.access.clone());
        let slot = self.known.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone();
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
        let etag = answer.etag();
        let text = String::from_utf8_lossy(&answer.content(url)?).into_owned();
        let documents = sluice_api::yaml::documents(&text);
        let wrong =
            |error: String| Failure::content(format!("{} is no index of charts: {error}", shown(url)));
        let index = documents.map_err(wrong)?.into_iter().next().unwrap_or_default();
        let index = Arc::new(index);
        *held = Some(Held { index: index.clone(), etag, at: Instant::now() });
        Ok(index)
    }
}

fn chosen(index: &Value, url: &str, request: &ChartRequest) -> Result<Found, Failure> {
    let entries =
        index.get("entries").and_then(|entries| entries.get(&request.name)).and_then(Value::as_array);
    let none = |what: &str| {
        Err(Failure::content(format!("{} has {what}; correct the name or the version", shown(url))))
    };
    let Some(entries) = entries else { return none(&format!("no chart {:?}", request.name)) };
    let version = |entry: &Value| entry.get("version").and_then(Value::as_str).unwrap_or_default().to_owned();
    let versions: Vec<String> = entries.iter().map(version).collect();
    let best = best_version(&request.version, versions.iter().map(String::as_str));
    let Some(place) = best.and_then(|best| versions.iter().position(|version| version == best)) else {
        return none(&format!("no version {:?} of {:?}", request.version, request.name));
    };
    let link = entries[place].get("urls").and_then(|urls| urls.get(0)).and_then(Value::as_str);
    let Some(link) = link else {
        return none(&format!("no address for {} {}", request.name, versions[place]));
    };
    let digest = entries[place].get("digest").and_then(Value::as_str).filter(|digest| !digest.is_empty());
    let digest = digest.map(|digest| format!("sha256:{}", digest.trim_start_matches("sha256:")));
    Ok(Found { url: joined(url, link), digest })
}

/// Who asks, for the repository: its password is for no other host.
pub(crate) fn authorization(request: &ChartRequest) -> Option<Authorization> {
    request.access.login.as_ref().map(|login| Authorization::new(&request.repository, basic(login)))
}
