//! Renders each second of one NetworkPolicy template over 64 Services of about 3 KB: Go, Tera in this process, Tera in
//! the worker. This program is its own worker, so it measures by itself.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../template/benches/sample/mod.rs"]
mod sample;

use std::time::{Duration, Instant};

use sample::{NETWORK_POLICY, services};
use serde_json::json;
use sluice_template::{Cache, Data, Engine, Env, Limits, Options, Request, Stage};
use sluice_tera::{InProcess, Workers};

const TERA: &str = "kind: NetworkPolicy
apiVersion: networking.k8s.io/v1
metadata:
  name: front-{{ Resource.metadata.name }}
  namespace: {{ Resource.metadata.namespace }}
spec:
  podSelector:
    matchLabels:
      {% for key, value in Resource.spec.selector %}
      {{ key }}: {{ value }}
      {% endfor %}
  ingress:
    - from:
      - podSelector:
          matchLabels:
            app: internal
      ports:
        {% for port in Resource.spec.ports %}
        - port: {{ port.port }}
        {% endfor %}
";

/// Renders each second, over two seconds.
fn rate(mut render: impl FnMut(&Data<'_>) -> String) -> f64 {
    let services = services();
    let (begin, mut count, mut bytes) = (Instant::now(), 0_u32, 0);
    while begin.elapsed() < Duration::from_secs(2) {
        for service in &services {
            bytes += render(&Data::Map(vec![("Resource", Data::Json(service))])).len();
        }
        count += 64;
    }
    assert!(bytes > 0);
    f64::from(count) / begin.elapsed().as_secs_f64()
}

fn render(engine: &dyn Engine, text: &str, dot: &Data<'_>) -> String {
    let (env, limits) = (Env::default(), Limits { wall: Duration::from_secs(20), ..Limits::default() });
    engine.render(&Request { name: "t", text, stage: Stage::Event, dot, env: &env, limits: &limits }).unwrap()
}

fn by(engine: &dyn Engine) -> f64 {
    rate(|dot| render(engine, TERA, dot))
}

fn main() {
    sluice_tera::serve_if_asked();
    let (cache, env, limits) = (Cache::new(8), Env::default(), Limits::default());
    let go = |dot: &Data<'_>| {
        cache.get("t", NETWORK_POLICY, &Options::default()).unwrap().render(dot, &env, &limits).unwrap()
    };
    println!("Go templates, in process:  {:9.0} renders/s", rate(go));
    println!("Tera, in process:          {:9.0} renders/s", by(&InProcess::default()));
    let workers = Workers::new();
    let begin = Instant::now();
    assert_eq!(render(&workers, "{{ Resource.n }}", &Data::Json(&json!({"Resource": {"n": 1}}))), "1");
    println!("start of a worker:         {:9.1} ms", begin.elapsed().as_secs_f64() * 1000.0);
    println!("Tera, in the worker:       {:9.0} renders/s", by(&workers));
}
