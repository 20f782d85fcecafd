//! Control of the simulation itself, under `/_sim`.
//!
//! ```text
//! GET    /_sim/clusters               the ids
//! PUT    /_sim/clusters/<id>          add a cluster
//! DELETE /_sim/clusters/<id>          remove it
//! GET    /_sim/clusters/<id>/faults   the fault knobs
//! PUT    /_sim/clusters/<id>/faults   change some of them, or act: cutWatches, expireWatches, seed
//! ```

use std::sync::Arc;

use ::http::{Method, Request};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::body;
use super::respond::{self, Response};
use crate::faults::{FaultSettings, Faults};
use crate::fleet::Shared;
use crate::status::ApiError;

/// Answers a request for `/_sim<path>`.
pub async fn answer(shared: &Arc<Shared>, path: &str, request: Request<Incoming>) -> Response {
    let method = request.method().clone();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let answered = match (&method, parts.as_slice()) {
        (&Method::GET, ["clusters"]) => Ok(json!({"clusters": shared.ids()})),
        (&Method::PUT, ["clusters", id]) => add(shared, id),
        (&Method::DELETE, ["clusters", id]) => {
            if shared.remove(id) {
                Ok(json!({}))
            } else {
                Err(ApiError::unknown_path())
            }
        }
        (&Method::GET, ["clusters", id, "faults"]) => find(shared, id).map(|faults| show(&faults)),
        (&Method::PUT, ["clusters", id, "faults"]) => match body::read(request.into_body()).await {
            Ok(bytes) => find(shared, id).and_then(|faults| {
                change(&faults, body::parse(&bytes, "application/json")?)?;
                Ok(show(&faults))
            }),
            Err(error) => Err(error),
        },
        _ => Err(ApiError::unknown_path()),
    };
    match answered {
        Ok(value) => respond::json(200, &value),
        Err(error) => respond::error(&error),
    }
}

fn add(shared: &Shared, id: &str) -> Result<Value, ApiError> {
    shared.add(id).map_err(|error| ApiError::bad_request(error.to_string()))?;
    let token = shared.find(id).map(|cluster| cluster.token().to_owned()).unwrap_or_default();
    Ok(json!({"id": id, "server": shared.server_url(id), "token": token}))
}

fn find(shared: &Shared, id: &str) -> Result<Faults, ApiError> {
    shared.find(id).map(Faults::of).ok_or_else(ApiError::unknown_path)
}

fn show(faults: &Faults) -> Value {
    serde_json::to_value(faults.settings()).unwrap_or_default()
}

fn change(faults: &Faults, body: Value) -> Result<(), ApiError> {
    let Value::Object(mut knobs) = body else {
        return Err(ApiError::bad_request("the body of the request is not a JSON object"));
    };
    let mut action = |name: &str| knobs.remove(name) == Some(Value::Bool(true));
    let (cut, expire) = (action("cutWatches"), action("expireWatches"));
    if let Some(seed) = knobs.remove("seed").and_then(|seed| seed.as_u64()) {
        faults.seed(seed);
    }
    let mut merged = show(faults);
    if let Value::Object(merged) = &mut merged {
        merged.extend(knobs);
    }
    let settings: FaultSettings = serde_json::from_value(merged)
        .map_err(|error| ApiError::bad_request(format!("the fault knobs are not valid: {error}")))?;
    faults.set(settings);
    if cut {
        faults.cut_watches();
    }
    if expire {
        faults.expire_watches();
    }
    Ok(())
}
