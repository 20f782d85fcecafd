//! Rendering text with what an event knows.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::Trigger;
use sluice_api::secrets::{is_secret, without_message};
use sluice_api::{ClusterRef, Digest, ObjectKey};
use sluice_template::{Cache, Data, Engine, Env, Limits, NoEngine, Options, Request, Stage};

use crate::error::{Error, Result};
use crate::rendering::chart_outputs::Outputs;
use crate::rendering::content::Manifests;
use crate::rendering::destination::{Destination, Resources};
use crate::rendering::draws::Draws;
use crate::rendering::language::Language;
use crate::rendering::salt::Salt;
use crate::rendering::veil::{NoVeil, Veil};

/// Compiled templates kept by one renderer.
const KEPT: usize = 4096;

/// What is compiled and parsed is a function of its text: renderers may share it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Caches {
    templates: Arc<Cache>,
    pub(crate) manifests: Manifests,
    pub(crate) outputs: Outputs,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            templates: Arc::new(Cache::new(KEPT)),
            manifests: Manifests::default(),
            outputs: Outputs::default(),
        }
    }
}

impl Caches {
    /// Caches that keep also what is unlikely to come again.
    pub fn keeping_everything() -> Self {
        Self { manifests: Manifests::keeping_everything(), ..Self::default() }
    }
}

/// Renders templates; compiled ones are kept by content.
#[derive(Clone)]
pub(crate) struct Templates {
    cache: Arc<Cache>,
    limits: Limits,
    tera: Arc<dyn Engine>,
    veil: Arc<dyn Veil>,
    salt: Salt,
    draws: Draws,
    now_unix_nanos: i64,
}

impl Templates {
    pub(crate) fn new(limits: &Limits, salt: &Salt, caches: &Caches) -> Self {
        Self {
            cache: caches.templates.clone(),
            limits: limits.clone(),
            tera: Arc::new(NoEngine),
            veil: Arc::new(NoVeil),
            salt: salt.clone(),
            draws: Draws::default(),
            now_unix_nanos: 0,
        }
    }

    /// What random values begin with.
    pub(crate) fn salt(&self) -> &Salt {
        &self.salt
    }

    /// Lets this engine render what is written in Tera.
    pub(crate) fn set_tera(&mut self, tera: Arc<dyn Engine>) {
        self.tera = tera;
    }

    /// The same for who draws random values for itself.
    pub(crate) fn for_draws(&self, draws: Draws) -> Self {
        Self { draws, ..self.clone() }
    }

    /// Whether destinations draw different random values.
    pub(crate) fn draw_apart(&self) -> bool {
        self.draws.differ()
    }

    /// For whom and where random values are drawn.
    pub(crate) fn scope(&self, place: &ClusterRef) -> Option<Digest> {
        self.draws.scope(Some(place))
    }

    /// What opens the texts of Secrets.
    pub(crate) fn veil(&self) -> &dyn Veil {
        &*self.veil
    }

    /// Lets this open the texts of Secrets.
    pub(crate) fn set_veil(&mut self, veil: Arc<dyn Veil>) {
        self.veil = veil;
    }

    /// The time that templates see, microseconds since 1970.
    pub(crate) fn set_now(&mut self, now: i64) {
        self.now_unix_nanos = now.saturating_mul(1000);
    }

    /// The time that templates see, nanoseconds since 1970.
    pub(crate) fn now_unix_nanos(&self) -> i64 {
        self.now_unix_nanos
    }

    /// Renders a Go template; text without an action is returned as it is.
    ///
    /// # Errors
    /// The engine's message, with template name, line and column.
    pub(crate) fn render(&self, name: &str, text: &str, stage: Stage, dot: &Data<'_>) -> Result<String> {
        self.run(Language::Go, (name, text), stage, (dot, &Resources::new()), None)
    }

    /// Renders a template of any language for one destination, with what is read of the management cluster.
    ///
    /// # Errors
    /// The engine's message, with template name, line and column.
    pub(crate) fn render_for(
        &self,
        language: Language,
        name: &str,
        text: &str,
        destination: Destination<'_>,
    ) -> Result<String> {
        let (dot, place) = (destination.dot(), Some(&destination.cluster.id));
        self.run(language, (name, text), Stage::Deploy, (&dot, destination.resources), place)
    }

    /// Renders a template of any language over an event of a cluster; text without an action is returned as it is.
    ///
    /// # Errors
    /// The engine's message, with template name, line and column.
    pub(crate) fn render_at(
        &self,
        cluster: &ClusterRef,
        language: Language,
        (name, text): (&str, &str),
        dot: &Data<'_>,
    ) -> Result<String> {
        self.run(language, (name, text), Stage::Event, (dot, &Resources::new()), Some(cluster))
    }

    /// The moment, and where drawing at random begins. Random functions are a function of the template, of who asks and of the
    /// place that it is for: every replica and every restart draws the same.
    pub(crate) fn env(&self, name: &str, text: &str, place: Option<&ClusterRef>) -> Env<'static> {
        let seed = self.salt.seed(self.draws.scope(place), &[name.as_bytes(), text.as_bytes()]);
        Env::new(self.now_unix_nanos, seed).with_steady_certificates()
    }

    fn run(
        &self,
        language: Language,
        (name, text): (&str, &str),
        stage: Stage,
        (dot, resources): (&Data<'_>, &Resources),
        place: Option<&ClusterRef>,
    ) -> Result<String> {
        if !language.has_actions(text) {
            return Ok(text.to_owned());
        }
        let env = self.env(name, text, place);
        let env =
            resources.iter().fold(env, |env, (identifier, object)| env.with_resource(identifier, object));
        let rendered = if language == Language::Tera {
            let request = Request { name, text, stage, dot, env: &env, limits: &self.limits };
            self.tera.render(&request).map_err(Error::from)
        } else {
            let options = Options { stage, ..Options::default() };
            let program = self.cache.get(name, text, &options)?;
            program.render(dot, &env, &self.limits).map_err(Error::from)
        };
        let reads_secret = || resources.iter().any(|(_, object)| is_secret(object)) || holds_secret(dot);
        rendered.map_err(|error| error.covered_if(reads_secret(), without_message))
    }
}

/// Whether a template over this reads a Secret.
fn holds_secret(dot: &Data<'_>) -> bool {
    match dot {
        Data::Json(object) => is_secret(object),
        Data::Map(fields) => fields.iter().any(|(_, value)| holds_secret(value)),
        Data::List(items) => items.iter().any(holds_secret),
        _ => false,
    }
}

/// A `corev1.ObjectReference`, as `.MatchingResource` is one.
pub(crate) fn reference<'a>(key: &'a ObjectKey, api_version: &'a str) -> Data<'a> {
    Data::Struct(
        "v1.ObjectReference",
        vec![
            ("Kind", Data::Str(&key.gvk.kind)),
            ("Namespace", Data::Str(&key.namespace)),
            ("Name", Data::Str(&key.name)),
            ("UID", Data::Str("")),
            ("APIVersion", Data::Str(api_version)),
            ("ResourceVersion", Data::Str("")),
            ("FieldPath", Data::Str("")),
        ],
    )
}

/// The name that Sveltos gives to every template of a trigger; it is part of error messages.
pub(crate) fn template_name(cluster: &ClusterRef, trigger: &Trigger) -> String {
    format!("{}-{}-{}", cluster.namespace, cluster.name, trigger.name)
}

/// Dot with nothing but the cluster.
pub(crate) fn cluster_only(cluster: &Value) -> Data<'_> {
    Data::Map(vec![("Cluster", Data::Json(cluster))])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_api::Gvk;

    use super::*;

    fn mk_templates() -> Templates {
        salted(Salt::default())
    }

    fn salted(salt: Salt) -> Templates {
        Templates::new(&Limits::default(), &salt, &Caches::default())
    }

    fn render(templates: &Templates, text: &str) -> Result<String> {
        templates.render("t", text, Stage::Event, &cluster_only(&json!({"metadata": {"name": "c"}})))
    }

    #[test]
    fn text_without_an_action_is_not_looked_at() {
        assert_eq!(render(&mk_templates(), "}} % \\ ü").unwrap(), "}} % \\ ü");
        assert_eq!(render(&mk_templates(), "{{ .Cluster.metadata.name }}!").unwrap(), "c!");
    }

    #[test]
    fn every_replica_draws_the_same_random_values_and_each_template_others() {
        let draw = |name: &str, text: &str| {
            let nothing = json!({});
            mk_templates().render(name, text, Stage::Event, &cluster_only(&nothing)).unwrap()
        };
        let text = "{{ randAlphaNum 20 }}";
        assert_eq!(draw("a", text), draw("a", text));
        assert_ne!(draw("a", text), draw("b", text));
        assert_ne!(draw("a", text), draw("a", &format!("{text}{{{{- \"\" }}}}")));
    }

    #[test]
    fn the_time_that_templates_see_is_given_to_them() {
        let mut templates = mk_templates();
        let text = "{{ now | unixEpoch }}";
        assert_eq!(render(&templates, text).unwrap(), "0");
        templates.set_now(1_700_000_000_999_999);
        assert_eq!(render(&templates, text).unwrap(), "1700000000");
        templates.set_now(i64::MAX);
        assert!(render(&templates, text).is_ok(), "a clock that is wrong is no reason to fail");
    }

    #[test]
    fn errors_name_the_template_and_the_place_also_when_it_is_kept() {
        let templates = mk_templates();
        for _ in 0..2 {
            let error = render(&templates, "a\n{{ .Cluster.nope.x }}").unwrap_err();
            assert!(error.to_string().starts_with("template: t:2:"), "{error}");
        }
    }

    #[test]
    fn a_reference_has_the_fields_of_kubernetes() {
        let gvk = Gvk::new("apps", "v1", "Deployment");
        let key = ObjectKey { gvk, namespace: "n".into(), name: "d".into() };
        let dot = Data::Map(vec![("MatchingResource", reference(&key, "apps/v1"))]);
        let text =
            "{{ with .MatchingResource }}{{ .APIVersion }} {{ .Kind }} {{ .Namespace }}/{{ .Name }}{{ end }}";
        let text = mk_templates().render("t", text, Stage::Event, &dot);
        assert_eq!(text.unwrap(), "apps/v1 Deployment n/d");
        let lower = mk_templates().render("t", "{{ .MatchingResource.name }}", Stage::Event, &dot);
        assert!(lower.unwrap_err().to_string().contains("name"), "it is a struct of Go, not a map");
    }

    #[test]
    fn random_values_are_alike_under_one_salt_and_unlike_under_another() {
        let draw = |salt: [u8; 32]| render(&salted(Salt::new(salt)), "{{ randAlphaNum 20 }}").unwrap();
        assert_eq!(draw([1; 32]), draw([1; 32]));
        assert_ne!(draw([1; 32]), draw([2; 32]));
    }
}
