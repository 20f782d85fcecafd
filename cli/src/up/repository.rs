//! A chart repository on this machine, in place of those that `sources.yaml` names.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::json;
use sluice_dryrun::{Packed, Sources};
use sluice_tasks::{End, Once, Tasks};

/// What is served, by path. A repository is a folder of the server.
type Pages = BTreeMap<String, Arc<[u8]>>;

/// Serves charts until the process stops; returns the address of each repository's mirror.
pub(super) async fn serve(sources: &Sources, tasks: &Tasks) -> anyhow::Result<BTreeMap<String, String>> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}", listener.local_addr()?);
    let (pages, mirrors) = pages(sources, &address);
    let app = Router::new().route("/{*path}", get(page)).with_state(Arc::new(pages));
    let stop = tasks.stop().clone();
    tasks.spawn(Once::Repository, async move {
        if let Err(error) = axum::serve(listener, app).with_graceful_shutdown(stop.cancelled_owned()).await {
            tracing::error!(%error, "the chart repository ended");
        }
        End::Early
    });
    Ok(mirrors)
}

/// Indices and archives, and the address of each repository's mirror.
fn pages(sources: &Sources, address: &str) -> (Pages, BTreeMap<String, String>) {
    let mut folders = BTreeMap::<&str, Vec<Packed<'_>>>::new();
    for chart in sources.charts() {
        folders.entry(chart.repository).or_default().push(chart);
    }
    let (mut pages, mut mirrors) = (Pages::new(), BTreeMap::new());
    for (number, (repository, charts)) in folders.into_iter().enumerate() {
        let mut entries = serde_json::Map::new();
        for chart in charts {
            let file = format!("{}.tgz", chart.digest.trim_start_matches("sha256:"));
            let entry =
                json!({"name": chart.name, "version": chart.version, "digest": chart.digest, "urls": [file]});
            pages.insert(format!("{number}/{file}"), chart.archive.clone());
            if let Some(versions) = entries.entry(chart.name).or_insert_with(|| json!([])).as_array_mut() {
                versions.push(entry);
            }
        }
        // JSON is YAML.
        let index = json!({"apiVersion": "v1", "entries": entries}).to_string();
        pages.insert(format!("{number}/index.yaml"), index.into_bytes().into());
        mirrors.insert(repository.to_owned(), format!("{address}/{number}"));
    }
    (pages, mirrors)
}

async fn page(State(pages): State<Arc<Pages>>, Path(path): Path<String>) -> Response {
    match pages.get(&path) {
        Some(page) => page.to_vec().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
