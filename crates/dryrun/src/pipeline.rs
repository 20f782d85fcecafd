//! The cores of matcher, renderer and deployer in sequence, with one shard and no bus.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use sluice_api::model::{Cluster, Onboarding, capi_cluster};
use sluice_api::{ClusterRef, Gvk, ObjectKey, object};
use sluice_protocol::interest::Interest;
use sluice_protocol::{Core as _, Incarnation, Row, Shard, Step};
use sluice_renderer_core as renderer;
use sluice_template::{Engine, NoEngine};

use crate::because::Because;
use crate::capabilities;
use crate::cluster::{Begin, Defined, deploy};
use crate::input::Input;
use crate::local;
use crate::matching::reports_of;
use crate::output::{Made, Output};
use crate::rendered::in_order;
use crate::rendering::{Known, Rendering, render};
use crate::resources::Resources;
use crate::served::{Kinds, normalised};
use crate::sources::{NoRepositories, Repositories};

/// The only incarnation of streams that do not exist.
pub(crate) const INCARNATION: Incarnation = Incarnation::new(1);

/// Rows by subject: the newest of each, as a stream would keep them.
pub(crate) type Rows = BTreeMap<String, Row>;

/// The rows of a build. What another one cannot tell, because something is wrong or suspended, stays as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Former(Rows);

/// What a build depends on besides its input.
#[derive(Clone, Debug)]
pub struct Options {
    /// The time that templates see, microseconds since 1970. By default now, or what `SOURCE_DATE_EPOCH` says.
    pub now: i64,
    /// Renders what is written in Tera. By default nothing does, and such content is a problem.
    pub tera: Arc<dyn Engine>,
    /// Where charts come from that do not lie beside the manifests. By default from nowhere: such a chart is a problem.
    pub repositories: Arc<dyn Repositories>,
    /// Opens the texts of Secrets where the input has them sealed. By default none is.
    pub veil: Option<Arc<dyn renderer::Veil>>,
    /// What is compiled is kept here, for who builds often.
    pub caches: renderer::Caches,
    /// Whether each object also says why it exists. It takes about as long as the rest.
    pub because: bool,
    /// Which clusters of Cluster API are managed clusters.
    pub onboarding: Onboarding,
}

impl Default for Options {
    fn default() -> Self {
        let (tera, repositories) = (Arc::new(NoEngine), Arc::new(NoRepositories));
        Self {
            now: now(),
            tera,
            repositories,
            veil: None,
            caches: renderer::Caches::default(),
            because: false,
            onboarding: Onboarding::default(),
        }
    }
}

// D-1301: a dry run is the oracle.
/// Computes what would exist where, now.
pub fn build(input: &Input) -> Output {
    build_with(input, &Options::default())
}

/// Computes what would exist where; `now` is the time that templates see, microseconds since 1970.
pub fn build_at(input: &Input, now: i64) -> Output {
    build_with(input, &Options { now, ..Options::default() })
}

/// Computes what would exist where.
pub fn build_with(input: &Input, options: &Options) -> Output {
    let kinds = Kinds::of(input);
    let (input, notes) = normalised(input, &kinds);
    let mut made = if local::is_in(&input) {
        settled(&input, &kinds, options)
    } else {
        Reported::of(&input, options).made(&kinds, options)
    };
    made.note(notes);
    made.into()
}

/// Computes what would exist where, and the rows that lead to it: another input is built over them.
pub fn build_over(input: &Input, options: &Options) -> (Output, Former) {
    let kinds = Kinds::of(input);
    let (input, notes) = normalised(input, &kinds);
    let rows = RefCell::new(Rows::new());
    let mut made = local::settle(&input, |input| {
        Reported::of(input, options).made_of(&kinds, options, |made| drop(rows.replace(made.clone())))
    });
    made.note(notes);
    (made.into(), Former(rows.into_inner()))
}

/// Computes what would exist where, and keeps no more of it in memory than it must, whoever has a large cluster.
pub fn make(input: Input, options: &Options) -> Made {
    let kinds = Kinds::of(&input);
    let (served, notes) = normalised(&input, &kinds);
    let mut made = if local::is_in(&served) {
        settled(&served, &kinds, options)
    } else {
        let reported = Reported::of(&served, options);
        drop(served);
        drop(input);
        reported.made(&kinds, options)
    };
    made.note(notes);
    made
}

/// Built until nothing new comes of what is deployed to the management cluster.
fn settled(input: &Input, kinds: &Kinds, options: &Options) -> Made {
    local::settle(input, |input| Reported::of(input, options).made(kinds, options))
}

/// What is known when all objects have been seen.
struct Reported {
    renderer: renderer::Renderer,
    clusters: Vec<ClusterRef>,
    reports: Rows,
    defined: Defined,
    known: Known,
    begun: Rendering,
}

// === impl Reported ===

impl Reported {
    fn of(input: &Input, options: &Options) -> Self {
        let resources = Resources::of(&input.management);
        let known =
            Known { resources, sources: input.sources.clone(), repositories: options.repositories.clone() };
        let mut begun = Rendering::default();
        let (renderer, interests) = begin_rendering(input, options, &known, &mut begun);
        let (mut reports, mut defined) = (Rows::new(), Defined::new());
        for (cluster, interest) in &interests {
            let held = input.clusters.get(&(cluster.namespace.clone(), cluster.name.clone()));
            let held = held.map_or(&[] as &[Value], Vec::as_slice);
            let is_definition = |key: &ObjectKey| key.gvk.kind == "CustomResourceDefinition";
            defined.insert(
                cluster.clone(),
                held.iter().filter_map(ObjectKey::of).filter(is_definition).collect(),
            );
            reports.extend(reports_of(cluster, interest, held, options.now, &mut begun.problems));
        }
        Self { renderer, clusters: interests.into_keys().collect(), reports, defined, known, begun }
    }

    fn made(self, kinds: &Kinds, options: &Options) -> Made {
        self.made_of(kinds, options, |_| ())
    }

    /// The same; `see` sees the rows.
    fn made_of(mut self, kinds: &Kinds, options: &Options, see: impl FnOnce(&Rows)) -> Made {
        let mut rendering = self.begun;
        render(&mut self.renderer, self.reports, options.now, &self.known, &mut rendering);
        see(&rendering.desired);
        let because = options.because.then(|| Because::of(&mut self.renderer, rendering.desired.values()));
        drop(self.renderer);
        let (rows, rendered) = in_order(rendering.desired, kinds);
        rendering.problems.extend(rendered.notes);
        let begin = Begin { defined: self.defined, kinds: rendered.definitions };
        let (objects, deployment) = deploy(rows, &self.clusters, begin);
        rendering.problems.extend(deployment);
        let management = rendering.management.into_values().flatten().collect();
        Made::new(management, self.clusters, objects, rendering.problems, because.as_ref())
    }
}

/// The time that templates see: `SOURCE_DATE_EPOCH` makes a build repeatable to the byte.
fn now() -> i64 {
    let fixed = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse::<i64>().ok());
    let seconds = fixed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
    });
    seconds.saturating_mul(1_000_000)
}

/// A renderer that knows the management cluster and the interest rows it wants, and has made the profiles that users wrote:
/// those wait for no event.
fn begin_rendering(
    input: &Input,
    options: &Options,
    known: &Known,
    rendering: &mut Rendering,
) -> (renderer::Renderer, BTreeMap<ClusterRef, Interest>) {
    let config = renderer::Config {
        shard: Shard::FIRST,
        shards: 1,
        input: INCARNATION,
        outputs: Vec::new(),
        tombstone_ttl: i64::MAX / 4,
        limits: sluice_template::Limits::default(),
        salt: renderer::Salt::default(),
        forget_after: i64::MAX,
        mark: 0,
    };
    let renderer = renderer::Renderer::with_caches(config, &options.caches).all_at_once();
    let renderer = renderer.with_tera(options.tera.clone());
    let (mut renderer, now) = match &options.veil {
        Some(veil) => (renderer.with_veil(veil.clone()), options.now),
        None => (renderer, options.now),
    };
    let mut step = Step::at(now);
    let there = || input.management.iter().filter(|object| options.onboarding.lets_in(object));
    for object in there().map(|object| Arc::new(registered(object))) {
        renderer.external(renderer::ExternalInput::Management(renderer::Change::Upsert(object)), &mut step);
    }
    let registers = |object: &&Value| matches!(object::text(object, &["kind"]), "SveltosCluster" | "Cluster");
    for object in there().filter(registers) {
        let Some(cluster) = Cluster::read(&Arc::new(object.clone())) else { continue };
        let place = (cluster.id.namespace.clone(), cluster.id.name.clone());
        let objects = input.clusters.get(&place).map_or(&[][..], Vec::as_slice);
        let can = Arc::new(capabilities::of_cluster(input.capabilities.get(&place), objects));
        renderer.external(renderer::ExternalInput::Capabilities(cluster.id, Some(can)), &mut step);
    }
    input.former.0.values().for_each(|row| renderer.found(&row.subject, &row.head));
    rendering.desired.clone_from(&input.former.0);
    renderer.start(&mut step);
    renderer.ask(&mut step);
    rendering.take(&mut renderer, step, known);
    let interests = std::mem::take(&mut rendering.interests);
    let mut step = Step::at(now);
    for (cluster, row) in &interests {
        renderer.external(renderer::ExternalInput::Interest(cluster.clone(), row.clone()), &mut step);
    }
    rendering.take(&mut renderer, step, known);
    (renderer, interests)
}

/// The object; one of Cluster API as it is once its control plane is initialised, unless it says something of that.
fn registered(object: &Value) -> Value {
    let mut object = object.clone();
    let is_capi = capi_cluster()
        .is_kind_of(&Gvk::parse(object::text(&object, &["apiVersion"]), object::text(&object, &["kind"])));
    if is_capi && object.get("status").is_none() {
        object["status"] = json!({"initialization": {"controlPlaneInitialized": true}});
    }
    object
}
