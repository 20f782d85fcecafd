//! Requests for objects.

use ::http::Method;
use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::respond::{self, Format, Response};
use super::route::Target;
use super::{Call, body, reviews, stream, tokens};
use crate::cluster::{
    DeleteOptions, Deleted, ListOptions, Page, PatchKind, Watch, WatchOptions, Write, Written,
};
use crate::kinds::{Endpoint, VIRTUAL};
use crate::object::Object;
use crate::status::{ApiError, success};
use crate::table;

/// How long a watch lasts when the client does not say.
const DEFAULT_WATCH: Duration = Duration::from_secs(30 * 60);

/// Answers a request for objects.
pub fn answer(target: &Target, call: Call) -> Result<Response, ApiError> {
    if is_virtual(target) {
        return reviews::answer(target, &call);
    }
    if tokens::is_here(target) {
        return tokens::answer(target, &call);
    }
    let endpoint = call.cluster.endpoint(&target.group, &target.version, &target.plural)?;
    check_path(target, &endpoint)?;
    match (&call.method, target.name.is_empty()) {
        (&Method::GET, false) if !call.params.is_true("watch") => get(target, &endpoint, &call),
        (&Method::GET, _) => list_or_watch(target, &endpoint, &call),
        (&Method::POST, true) => create(target, &endpoint, &call),
        (&Method::PUT, false) => update(target, &endpoint, &call),
        (&Method::PATCH, false) => patch(target, &endpoint, &call),
        (&Method::DELETE, false) if target.subresource.is_empty() => delete(target, &endpoint, &call),
        (&Method::DELETE, true) => delete_collection(target, &endpoint, &call),
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// Whether nothing is stored of what is posted there.
pub fn is_answered_alone(target: &Target) -> bool {
    is_virtual(target) || tokens::is_here(target)
}

fn is_virtual(target: &Target) -> bool {
    VIRTUAL.iter().any(|kind| kind.group == target.group && kind.plural == target.plural)
}

fn check_path(target: &Target, endpoint: &Endpoint) -> Result<(), ApiError> {
    let served = match target.subresource.as_str() {
        "" => true,
        "status" => endpoint.version().status,
        "finalize" => &*endpoint.def.key == "namespaces",
        _ => false,
    };
    let placed = match (endpoint.def.namespaced, target.namespace.is_empty()) {
        (true, true) => target.name.is_empty(),
        (false, false) => false,
        _ => true,
    };
    if served && placed { Ok(()) } else { Err(ApiError::unknown_path()) }
}

fn get(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let found = call.cluster.state().find(&endpoint.def, &target.namespace, &target.name).cloned();
    let object = found.ok_or_else(|| ApiError::not_found(&endpoint.def, &target.name))?;
    Ok(show(200, endpoint, &object, call))
}

/// One object in the wanted format.
fn show(code: u16, endpoint: &Endpoint, object: &Object, call: &Call) -> Response {
    match call.format {
        Format::Table => {
            let include = respond::include(call.params.get("includeObject"));
            let table = json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": object.meta_str("resourceVersion")},
                "columnDefinitions": table::definitions(endpoint),
                "rows": [table::row(endpoint, object, include)],
            });
            respond::json(code, &table)
        }
        Format::Metadata => respond::json(code, &table::partial_metadata(object)),
        Format::Json | Format::Aggregated => {
            respond::bytes(code, "application/json", object.to_bytes(&endpoint.version().prefix))
        }
    }
}

fn list_or_watch(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let mut options = call.params.list(endpoint, &target.namespace)?;
    if !call.params.is_true("watch") {
        if target.namespace.is_empty() && !target.name.is_empty() {
            return Err(ApiError::unknown_path());
        }
        let page = call.cluster.state().list(endpoint, &options)?;
        return Ok(show_list(endpoint, &page, call));
    }
    if !target.name.is_empty() {
        let by_name = format!("metadata.name={}", target.name);
        options.fields = crate::selectors::FieldSelector::parse(&by_name, &endpoint.def.kind)
            .map_err(ApiError::bad_request)?;
    }
    watch(endpoint, options, call)
}

fn watch(endpoint: &Endpoint, list: ListOptions, call: &Call) -> Result<Response, ApiError> {
    let send_initial_events = call.params.is_true("sendInitialEvents");
    if send_initial_events && call.params.get("resourceVersionMatch") != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        return Err(ApiError::new(
            422,
            "Invalid",
            format!("ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: {why}"),
        ));
    }
    let options = WatchOptions {
        list,
        send_initial_events,
        bookmarks: call.params.is_true("allowWatchBookmarks"),
        deadline: Instant::now() + call.params.timeout()?.unwrap_or(DEFAULT_WATCH),
    };
    let watch = Watch::start(&call.cluster, endpoint.clone(), options);
    Ok(stream::respond(watch, call.format, respond::include(call.params.get("includeObject"))))
}

fn show_list(endpoint: &Endpoint, page: &Page, call: &Call) -> Response {
    let mut metadata = json!({"resourceVersion": page.resource_version.to_string()});
    if let Value::Object(map) = &mut metadata {
        if !page.continue_token.is_empty() {
            map.insert("continue".into(), page.continue_token.clone().into());
        }
        if let Some(remaining) = page.remaining {
            map.insert("remainingItemCount".into(), remaining.into());
        }
    }
    if endpoint.def.custom && call.format == Format::Json && page.continue_token.is_empty() {
        metadata["continue"] = "".into();
    }
    match call.format {
        Format::Table => {
            let include = respond::include(call.params.get("includeObject"));
            let rows: Vec<Value> =
                page.objects.iter().map(|object| table::row(endpoint, object, include)).collect();
            let columns = table::definitions(endpoint);
            let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows});
            respond::json(200, &table)
        }
        Format::Metadata => {
            let items: Vec<Value> =
                page.objects.iter().map(|object| table::partial_metadata(object)).collect();
            let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items});
            respond::json(200, &list)
        }
        Format::Json | Format::Aggregated => {
            respond::bytes(200, "application/json", render_list(endpoint, page, &metadata))
        }
    }
}

fn render_list(endpoint: &Endpoint, page: &Page, metadata: &Value) -> Bytes {
    let size: usize = page.objects.iter().map(|object| object.size_hint() + 64).sum();
    let mut out = BytesMut::with_capacity(size + 256);
    let head = format!(
        "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{metadata},\"items\":[",
        Value::from(&*endpoint.def.list_kind),
        Value::from(endpoint.api_version()),
    );
    out.extend_from_slice(head.as_bytes());
    for (index, object) in page.objects.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b",");
        }
        // As in the real server: items of built-in lists do not repeat their type.
        if endpoint.def.custom {
            object.write(&endpoint.version().prefix, &mut out);
        } else {
            object.write_untyped(&mut out);
        }
    }
    out.extend_from_slice(b"]}\n");
    out.freeze()
}

fn create(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let options = call.params.write(&call.agent)?;
    let value = body::parse(&call.body, &call.content_type)?;
    let write =
        Write { endpoint, namespace: &target.namespace, name: "", subresource: "", options: &options };
    if endpoint.def.namespaced && target.namespace.is_empty() {
        return Err(ApiError::method_not_allowed());
    }
    let written = call.cluster.state().create(value, &write)?;
    Ok(show_written(endpoint, &written, call))
}

fn update(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let options = call.params.write(&call.agent)?;
    let value = body::parse(&call.body, &call.content_type)?;
    let written = call.cluster.state().update(value, &target.write(endpoint, &options))?;
    Ok(show_written(endpoint, &written, call))
}

fn patch(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let mut options = call.params.write(&call.agent)?;
    let kind = match call.content_type.as_str() {
        "application/json-patch+json" => PatchKind::Json,
        "application/merge-patch+json" => PatchKind::Merge,
        "application/strategic-merge-patch+json" => PatchKind::Strategic,
        "application/apply-patch+yaml" => PatchKind::Apply,
        other => return Err(ApiError::unsupported_media_type(other)),
    };
    if kind == PatchKind::Apply {
        // An applier must name itself.
        options.field_manager = call.params.get("fieldManager").to_owned();
    }
    let value = body::parse(&call.body, &call.content_type)?;
    let written = call.cluster.state().patch(kind, value, &target.write(endpoint, &options))?;
    Ok(show_written(endpoint, &written, call))
}

fn show_written(endpoint: &Endpoint, written: &Written, call: &Call) -> Response {
    let code = if written.created { 201 } else { 200 };
    respond::warn(show(code, endpoint, &written.object, call), &written.warnings)
}

fn delete(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let (options, write_options) = (delete_options(call)?, call.params.write(&call.agent)?);
    let deleted = call.cluster.state().delete(&target.write(endpoint, &write_options), &options)?;
    Ok(match deleted {
        Deleted::Gone(object) if &*endpoint.def.key != "namespaces" => {
            respond::json(200, &success(&endpoint.def, object.name(), object.uid()))
        }
        Deleted::Gone(object) | Deleted::Terminating(object) => show(200, endpoint, &object, call),
    })
}

fn delete_collection(target: &Target, endpoint: &Endpoint, call: &Call) -> Result<Response, ApiError> {
    let (options, write_options) = (delete_options(call)?, call.params.write(&call.agent)?);
    let selection = ListOptions { limit: 0, ..call.params.list(endpoint, &target.namespace)? };
    let mut state = call.cluster.state();
    let objects = state.delete_collection(&target.write(endpoint, &write_options), &selection, &options)?;
    let page = Page {
        objects,
        resource_version: state.resource_version(),
        continue_token: String::new(),
        remaining: None,
    };
    drop(state);
    Ok(show_list(endpoint, &page, call))
}

fn delete_options(call: &Call) -> Result<DeleteOptions, ApiError> {
    let body = body::parse(&call.body, &call.content_type)?;
    let mut options = DeleteOptions::from_json(&body);
    options.dry_run |= call.params.get("dryRun") == "All";
    options.orphan |= call.params.get("propagationPolicy") == "Orphan";
    Ok(options)
}

// === impl Target ===

impl Target {
    fn write<'a>(&'a self, endpoint: &'a Endpoint, options: &'a crate::cluster::WriteOptions) -> Write<'a> {
        Write {
            endpoint,
            namespace: &self.namespace,
            name: &self.name,
            subresource: &self.subresource,
            options,
        }
    }
}
