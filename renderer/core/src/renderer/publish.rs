//! From a cause to rows and projections.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::rows::Cause;
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{Body, Happened, Publish, Step, Subject};

use super::place::place_of;
use super::{Basis, Effect, Renderer, STAGE};
use crate::event::EventRender;
use crate::made::Place;
use crate::project::Projection;
use crate::render::{self, Reads, Rendered};

/// A destination and the body of its row.
type Rendition = (ClusterRef, Arc<[u8]>);

impl Renderer {
    /// Renders a cause, unless nothing that it is made of has changed since: then only what clusters hold besides
    /// is withdrawn.
    pub(super) fn render(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        let basis = self.basis(cause);
        if self.rendered_from.get(cause) == Some(&basis) {
            let stale = self.made.set(cause, self.made.places(cause), step.now);
            return self.withdraw_places(stale, time, step);
        }
        let mut reads = Reads::new();
        let rendered = self.render_cause(cause, &mut reads);
        for key in reads {
            self.readers.entry(key).or_default().insert(cause.clone());
        }
        let result = rendered.and_then(|rendered| self.publish(cause, &rendered, time, step));
        match &result {
            Ok(()) => drop(self.rendered_from.insert(cause.clone(), basis)),
            Err(_) => drop(self.rendered_from.remove(cause)),
        }
        self.made.set_failing(cause, result.is_err());
        let (cluster, object) = place_of(cause);
        self.note(cluster, object, result.err(), step);
    }

    fn basis(&self, cause: &Cause) -> Basis {
        let matches = match cause {
            Cause::Profile(_) => 0,
            Cause::Event(event) => self.sets.version(&event.cluster, &event.source, event.item.as_ref()),
        };
        (self.world.version(), matches)
    }

    pub(super) fn render_cause(&self, cause: &Cause, reads: &mut Reads) -> Result<Rendered, String> {
        match cause {
            Cause::Profile(id) => match self.world.profiles.get(id).map(Arc::as_ref) {
                Some(Ok(profile)) => crate::profile::render(profile, &self.world, &self.templates, reads),
                Some(Err(error)) => Err(error.to_string()),
                None => Err(format!("{id} does not exist")),
            },
            Cause::Event(event) => {
                let trigger = self.world.triggers.get(&event.trigger).map(Arc::as_ref);
                let (Some(Ok(trigger)), Some(cluster)) = (trigger, self.world.clusters.get(&event.cluster))
                else {
                    return Err(format!("{} or {} does not exist", event.trigger, event.cluster));
                };
                let empty = BTreeMap::new();
                let set = self.sets.get(&event.cluster, &event.source).unwrap_or(&empty);
                EventRender {
                    world: &self.world,
                    templates: &self.templates,
                    trigger,
                    cluster,
                    cause: event,
                    set,
                }
                .render(reads)
            }
        }
    }

    /// Publishes one row for each destination and withdraws the others.
    pub(super) fn publish(
        &mut self,
        cause: &Cause,
        rendered: &Rendered,
        time: i64,
        step: &mut Step<Effect>,
    ) -> Result<(), String> {
        let rows = self.rows(cause, rendered)?;
        let (meta, view) = (cause.to_meta(), self.world.view().clone());
        let places: BTreeSet<Place> =
            rows.iter().map(|(cluster, _)| (cluster.clone(), rendered.name.clone())).collect();
        let stale = self.made.set(cause, places, step.now);
        self.withdraw_places(stale, time, step);
        for (cluster, body) in rows {
            let subject = self.desired(&cluster, &rendered.name);
            step.effect(Effect::Happened(Happened::new(
                STAGE,
                "rendered",
                &cluster,
                &rendered.name,
                step.now,
                time,
            )));
            step.publish(
                Publish::new(subject, Body::Value(body), time).meta(meta.clone()).view(view.clone()),
            );
        }
        self.project(cause, &rendered.projections, step);
        Ok(())
    }

    /// The body for each destination. Paused clusters keep what they have.
    pub(super) fn rows(&self, cause: &Cause, rendered: &Rendered) -> Result<Vec<Rendition>, String> {
        let (owner, common) = match cause {
            Cause::Profile(id) => match self.world.profiles.get(id).map(Arc::as_ref) {
                Some(Ok(profile)) => ((&*profile.kind, &*profile.namespace), &profile.common),
                _ => return Err(format!("{id} does not exist")),
            },
            Cause::Event(event) => match self.world.triggers.get(&event.trigger).map(Arc::as_ref) {
                Some(Ok(trigger)) => (("ClusterProfile", ""), &trigger.common),
                _ => return Err(format!("{} does not exist", event.trigger)),
            },
        };
        let same = render::same_everywhere(&rendered.sources);
        let (mut rows, mut shared) = (Vec::new(), None::<Arc<[u8]>>);
        for id in &rendered.destinations {
            if let Some(other) = self.made.other_user(&(id.clone(), rendered.name.clone()), cause) {
                return Err(format!(
                    "the profile name {} is already used on {id} by {}; make spec.profileNameFormat differ",
                    rendered.name,
                    place_of(other).1
                ));
            }
            let Some(cluster) = self.world.clusters.get(id) else { continue };
            let body = match &shared {
                Some(body) if same => body.clone(),
                _ => {
                    let policies = render::policies(
                        &rendered.sources,
                        cluster,
                        &rendered.name,
                        &self.templates,
                        &self.manifests,
                    )?;
                    let desired = render::desired(rendered, owner, common, cause, policies);
                    serde_json::to_vec(&desired).map_err(|error| error.to_string())?.into()
                }
            };
            shared = Some(body.clone());
            rows.push((id.clone(), body));
        }
        Ok(rows)
    }

    pub(super) fn desired(&self, cluster: &ClusterRef, profile: &str) -> Subject {
        Subject::Desired {
            shard: cluster_shard(cluster, self.config.shards),
            cluster: cluster.clone(),
            origin: self.config.shard,
            profile: profile.to_owned(),
        }
    }

    pub(super) fn withdraw(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        let places = self.made.set(cause, BTreeSet::new(), step.now);
        self.withdraw_places(places, time, step);
        self.project(cause, &[], step);
        self.readers.values_mut().for_each(|causes| {
            causes.remove(cause);
        });
        self.rendered_at.remove(cause);
        self.made.set_failing(cause, false);
        self.rendered_from.remove(cause);
        let (cluster, object) = place_of(cause);
        self.note(cluster, object, None, step);
    }

    pub(super) fn withdraw_places(&self, places: Vec<Place>, time: i64, step: &mut Step<Effect>) {
        for (cluster, profile) in places {
            let subject = self.desired(&cluster, &profile);
            step.publish(
                Publish::new(subject, Body::Tombstone, time).view(self.world.view().clone()).forced(),
            );
        }
    }

    pub(super) fn project(&mut self, cause: &Cause, projections: &[Projection], step: &mut Step<Effect>) {
        let keys: Vec<ObjectKey> = projections.iter().map(|projection| projection.key.clone()).collect();
        let before = if keys.is_empty() {
            self.projected.remove(cause)
        } else {
            self.projected.insert(cause.clone(), keys.clone())
        };
        for key in before.into_iter().flatten().filter(|key| !keys.contains(key)) {
            step.effect(Effect::Project(Projection { key, object: None }));
        }
        for projection in projections {
            step.effect(Effect::Project(projection.clone()));
        }
    }
}
