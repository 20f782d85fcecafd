//! What the server says of all streams at once.

use std::collections::BTreeMap;

use async_nats::jetstream::Context;
use async_nats::jetstream::response::Response;
use async_nats::jetstream::stream::Info;
use serde::Deserialize;
use serde_json::json;

use crate::error::BusError;

/// The streams of the account.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    /// Those whose leader answered.
    pub(crate) found: BTreeMap<String, Info>,
    /// The names of all, also of those that have no leader now.
    pub(crate) names: Vec<String>,
}

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    total: usize,
    // The server writes null for none.
    streams: Option<Vec<T>>,
}

impl Streams {
    /// Asks the server.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) async fn ask(js: &Context) -> Result<Self, BusError> {
        let names = pages::<String>(js, "STREAM.NAMES", "").await?;
        let found = pages::<Info>(js, "STREAM.LIST", "").await?;
        Ok(Self { found: found.into_iter().map(|info| (info.config.name.clone(), info)).collect(), names })
    }

    /// What the server says of the stream that a subject is of, for who may not ask for a stream by its name: it would be told
    /// every subject in it. `None` while it has no leader.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(crate) async fn of_subject(
        js: &Context,
        name: &str,
        subject: &str,
    ) -> Result<Option<Info>, BusError> {
        let found = pages::<Info>(js, "STREAM.LIST", subject).await?;
        Ok(found.into_iter().find(|info| info.config.name == name))
    }

    /// Whether the server has a stream, with a leader or without.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.found.contains_key(name) || self.names.iter().any(|known| known == name)
    }
}

async fn pages<T: serde::de::DeserializeOwned>(
    js: &Context,
    question: &'static str,
    subject: &str,
) -> Result<Vec<T>, BusError> {
    let mut all = Vec::new();
    // Streams without a leader are not in the answer, and count in the total: ends with a page that brings nothing.
    loop {
        let asked: Result<Response<Page<T>>, _> =
            js.request(question, &json!({"offset": all.len(), "subject": subject})).await;
        let page = match asked.map_err(BusError::request("list streams"))? {
            Response::Ok(page) => page,
            Response::Err { error } => {
                return Err(BusError::Request { what: "list streams".to_owned(), source: error.into() });
            }
        };
        let found = page.streams.unwrap_or_default();
        let none = found.is_empty();
        all.extend(found);
        if none || all.len() >= page.total {
            return Ok(all);
        }
    }
}
