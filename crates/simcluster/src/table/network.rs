//! Cells of Services, Ingresses and Endpoints.

use serde_json::Value;

use super::view::{age, get, list, or_none, pairs, plain};
use crate::object::Object;

/// Type, addresses and ports.
pub fn service(object: &Object) -> Vec<Value> {
    let spec = |field: &str| get(object, &["spec", field]);
    let text = |field: &str| spec(field).and_then(Value::as_str).unwrap_or_default();
    let kind = text("type");
    let ports: Vec<String> = list(spec("ports")).map(service_port).collect();
    let external = match kind {
        "ExternalName" => text("externalName").to_owned(),
        "LoadBalancer" => load_balancer(object).unwrap_or_else(|| "<pending>".into()),
        _ => list(spec("externalIPs")).map(plain).collect::<Vec<_>>().join(","),
    };
    let address = if kind == "ExternalName" { "<none>" } else { text("clusterIP") };
    let shown = |text: &str| Value::from(or_none(text));
    let (ports, selector) = (ports.join(","), pairs(spec("selector")));
    vec![shown(kind), shown(address), shown(&external), shown(&ports), age(object), shown(&selector)]
}

fn service_port(port: &Value) -> String {
    let number = |field: &str| port.get(field).and_then(Value::as_i64);
    let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
    match number("nodePort") {
        Some(node) => format!("{}:{node}/{protocol}", number("port").unwrap_or(0)),
        None => format!("{}/{protocol}", number("port").unwrap_or(0)),
    }
}

/// Class, hosts and addresses.
pub fn ingress(object: &Object) -> Vec<Value> {
    let class = get(object, &["spec", "ingressClassName"]).and_then(Value::as_str).unwrap_or("<none>");
    let hosts: Vec<&str> =
        list(get(object, &["spec", "rules"])).filter_map(|rule| rule.get("host")?.as_str()).collect();
    let hosts = if hosts.is_empty() { "*".to_owned() } else { hosts.join(",") };
    let ports = if get(object, &["spec", "tls"]).is_some() { "80, 443" } else { "80" };
    vec![
        class.into(),
        hosts.into(),
        load_balancer(object).unwrap_or_default().into(),
        ports.into(),
        age(object),
    ]
}

/// The first addresses.
pub fn endpoints(object: &Object) -> String {
    let mut all = Vec::new();
    for subset in list(get(object, &["subsets"])) {
        let ports: Vec<i64> =
            list(subset.get("ports")).filter_map(|port| port.get("port")?.as_i64()).collect();
        for ip in list(subset.get("addresses")).filter_map(|address| address.get("ip")?.as_str()) {
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|port| format!("{ip}:{port}")));
        }
    }
    match all.len() {
        0 => "<none>".into(),
        1..=3 => all.join(","),
        count => format!("{} + {} more...", all[..3].join(","), count - 3),
    }
}

fn load_balancer(object: &Object) -> Option<String> {
    let ingress = list(get(object, &["status", "loadBalancer", "ingress"]));
    let names: Vec<&str> =
        ingress.filter_map(|entry| entry.get("ip").or_else(|| entry.get("hostname"))?.as_str()).collect();
    (!names.is_empty()).then(|| names.join(","))
}
