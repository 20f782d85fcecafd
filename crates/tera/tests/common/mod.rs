//! What the tests render with.

use serde_json::{Value, json};
use sluice_template::{Data, Engine, Env, Limits, Request, Stage, TextError};

/// The variables of an event: one of a Service, as far as the tests need it.
pub(crate) fn variables() -> Value {
    json!({
        "Resource": {
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "tier": "front"}, "uid": "u-1"},
            "spec": {"ports": [{"name": "https", "port": 443}, {"name": "http", "port": 80}], "selector": {"b": "2", "a": "1"}},
        },
        "MatchingResource": {"Kind": "Service", "Namespace": "shop", "Name": "web", "APIVersion": "v1"},
        "Cluster": {"metadata": {"name": "cluster-1", "namespace": "default", "labels": {"env": "fv"}}},
    })
}

/// Renders over the variables of an event, at a fixed time.
pub(crate) fn render(engine: &dyn Engine, text: &str, limits: &Limits) -> Result<String, TextError> {
    let (data, secret) = (variables(), json!({"data": {"password": "aGk="}, "metadata": {"uid": "u-2"}}));
    let env = Env::new(1_795_276_800_000_000_000, [7; 32]).with_resource("Secret", &secret);
    for stage in [Stage::Event, Stage::Deploy] {
        let needs_deploy = text.contains("identifier=");
        if needs_deploy == (stage == Stage::Deploy) {
            let dot = Data::Json(&data);
            return engine.render(&Request { name: "t", text, stage, dot: &dot, env: &env, limits });
        }
    }
    Err(TextError::Wrong("no stage".to_owned()))
}
