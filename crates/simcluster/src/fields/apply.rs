//! Server-side apply, and the bookkeeping of ownership for all other writes.

use std::sync::Arc;

use super::changed::{changed, drop_removed};
use super::manager::sort;
use super::prune::prune;
use super::{FieldSet, Manager, Operation, covers, field_set, merge};
use crate::object::Json;
use crate::schema::Schema;
use crate::status::Cause;

/// Who writes, and through what.
#[derive(Debug, Clone, Copy)]
pub struct Applier<'a> {
    /// Name of the writer.
    pub manager: &'a str,
    /// Version in which it writes.
    pub api_version: &'a str,
    /// Subresource through which it writes; empty for the object itself.
    pub subresource: &'a str,
    /// Whether the kind has `/status`, so that the object itself cannot write it.
    pub has_status: bool,
    /// Now, as the API writes it.
    pub time: &'a str,
    /// Shape of the object.
    pub schema: &'a Schema,
}

/// The result of an apply.
#[derive(Debug)]
pub struct Applied {
    /// The merged object.
    pub body: Json,
    /// Who owns what afterwards.
    pub managers: Vec<Manager>,
}

// === impl Applier ===

impl Applier<'_> {
    /// Fields that this path cannot write are not owned through it.
    fn limit(&self, set: &mut FieldSet) {
        if self.subresource == "status" {
            set.retain_field(|name| name == "status");
        } else if self.has_status {
            set.retain_field(|name| name != "status");
        }
    }

    fn is(&self, entry: &Manager, operation: Operation) -> bool {
        entry.is(self.manager, operation, self.api_version, self.subresource)
    }

    fn entry(&self, operation: Operation, fields: FieldSet) -> Manager {
        Manager::new(self.manager, operation, self.api_version, self.subresource, self.time, fields)
    }
}

/// Whether `config` is what this applier applied last, and the object still says so.
pub fn is_applied(live: &Json, managers: &[Manager], config: &Json, who: &Applier<'_>) -> bool {
    let former = managers.iter().find(|entry| who.is(entry, Operation::Apply));
    let Some(former) = former.filter(|former| *former.api_version == *who.api_version) else { return false };
    if !covers(live, config, who.schema) {
        return false;
    }
    let mut wanted = field_set(config, who.schema);
    who.limit(&mut wanted);
    *former.fields == wanted
}

/// Applies `config` to `live`: merges it, removes what this applier applied before and no longer
/// does, and takes ownership. Fields of others with other values are conflicts unless `force`.
pub fn apply(
    live: Option<(&Json, &[Manager])>,
    config: &Json,
    who: &Applier<'_>,
    force: bool,
) -> Result<Applied, Vec<Cause>> {
    let nothing = Json::new();
    let (before, managers) = live.unwrap_or((&nothing, &[]));
    let mut wanted = field_set(config, who.schema);
    who.limit(&mut wanted);
    let mut body = before.clone();
    merge(&mut body, config, who.schema);

    let former = managers.iter().find(|entry| who.is(entry, Operation::Apply));
    let mut others: Vec<Manager> =
        managers.iter().filter(|entry| !who.is(entry, Operation::Apply)).cloned().collect();
    if let Some(former) = former.filter(|former| *former.fields != wanted) {
        let mut owned = wanted.clone();
        others.iter().for_each(|other| owned.union_with(&other.fields));
        prune(&mut body, &former.fields, &owned, who.schema);
    }
    let changed = changed(live.map(|(body, _)| body), &body, who.schema);
    resolve_conflicts(&mut others, &changed, force)?;
    let same = former.filter(|former| *former.fields == wanted && *former.api_version == *who.api_version);
    let own = match same {
        Some(former) => former.clone(),
        None => who.entry(Operation::Apply, wanted),
    };
    finish(&mut others, before, &body, who.schema);
    if !own.fields.is_empty() {
        others.push(own);
        sort(&mut others);
    }
    Ok(Applied { body, managers: others })
}

fn resolve_conflicts(others: &mut [Manager], changed: &FieldSet, force: bool) -> Result<(), Vec<Cause>> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut causes = Vec::new();
    for other in others {
        let both = other.fields.intersection(changed);
        if both.is_empty() {
            continue;
        }
        let message = format!("conflict with {}", other.describe());
        causes.extend(both.paths().into_iter().map(|field| Cause {
            reason: "FieldManagerConflict",
            message: message.clone(),
            field,
        }));
        Arc::make_mut(&mut other.fields).subtract(&both);
    }
    if force || causes.is_empty() { Ok(()) } else { Err(causes) }
}

/// Records a write that is not an apply: what it changed is its own, what it removed is nobody's.
pub fn track_update(
    before: Option<&Json>,
    after: &Json,
    mut managers: Vec<Manager>,
    who: &Applier<'_>,
) -> Vec<Manager> {
    let mut changed = changed(before, after, who.schema);
    who.limit(&mut changed);
    if !changed.is_empty() {
        let mut own = FieldSet::default();
        for entry in &mut managers {
            if who.is(entry, Operation::Update) {
                own = FieldSet::clone(&entry.fields);
            } else {
                Arc::make_mut(&mut entry.fields).subtract(&changed);
            }
        }
        own.union_with(&changed);
        match managers.iter_mut().find(|entry| who.is(entry, Operation::Update)) {
            Some(entry) if *entry.fields == own => {}
            Some(entry) => *entry = who.entry(Operation::Update, own),
            None => managers.push(who.entry(Operation::Update, own)),
        }
    }
    finish(&mut managers, before.unwrap_or(after), after, who.schema);
    managers
}

/// Nobody owns what is removed, and who owns nothing is not listed.
fn finish(managers: &mut Vec<Manager>, before: &Json, after: &Json, schema: &Schema) {
    if before != after {
        for entry in managers.iter_mut() {
            let mut kept = FieldSet::clone(&entry.fields);
            drop_removed(&mut kept, before, after, schema);
            if kept != *entry.fields {
                entry.fields = Arc::new(kept);
            }
        }
    }
    managers.retain(|entry| !entry.fields.is_empty());
    sort(managers);
}
