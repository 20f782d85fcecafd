//! The Jobs that checks run, as one destination gets them.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::object;

use crate::error::{Error, Result};
use crate::rendering::content::Manifests;
use crate::rendering::destination::Destination;
use crate::rendering::part::{Part, PolicySource};
use crate::rendering::policies;
use crate::rendering::templates::Templates;

/// Bytes of a Job. One that is run before a removal is kept in the inventory in the cluster.
const LIMIT: usize = 64 << 10;

/// Those of a part, in the order of their checks, and whether there may be something secret in one.
///
/// # Errors
/// The object that one is written in, and what is wrong with it.
pub(crate) fn jobs(
    part: &Part,
    destination: Destination<'_>,
    name: &str,
    kept: (&Templates, &Manifests),
) -> Result<(Vec<Arc<Value>>, bool)> {
    let one = |source: &PolicySource| {
        let objects = policies::objects(source, destination, name, kept)?;
        let job = the_job(source, objects).map_err(|error| error.within(source.described()))?;
        Ok(Arc::new(job))
    };
    let jobs = part.jobs.iter().map(one).collect::<Result<Vec<_>>>()?;
    let is_secret = part.jobs.iter().any(|source| source.kind == "Secret");
    let reads_secret = !jobs.is_empty() && destination.reads_secret();
    Ok((jobs, is_secret || reads_secret))
}

/// The one Job of an object.
fn the_job(source: &PolicySource, objects: Vec<Value>) -> Result<Value> {
    if source.texts.len() != 1 {
        let remedy =
            "must have one key, with the one Job of the check; move the others to objects of their own";
        return Err(Error::value("data", remedy));
    }
    let Ok([job]) = <[Value; 1]>::try_from(objects) else {
        return Err(Error::value("data", "must hold one Job and nothing else"));
    };
    let text = |field: &str| object::text(&job, &[field]);
    if (text("apiVersion"), text("kind")) != ("batch/v1", "Job") {
        return Err(Error::value(object::describe(&job), "is no Job of batch/v1; a check runs one of these"));
    }
    let containers = job.pointer("/spec/template/spec/containers").and_then(Value::as_array);
    if containers.is_none_or(Vec::is_empty) {
        return Err(Error::value("spec.template.spec.containers", "must name at least one container"));
    }
    if job.to_string().len() > LIMIT {
        return Err(Error::value(
            object::describe(&job),
            "is larger than 64 KiB; let it read what it needs from the cluster",
        ));
    }
    Ok(job)
}
