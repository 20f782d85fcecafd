//! The real `kubectl` works on the simulated clusters as on the real server: the same commands
//! print the same.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use sluice_e2e::control_plane::{ControlPlane, assets};
use sluice_simcluster::{FleetConfig, SimFleet};

/// Commands, what they read, and what they print. Ages are cut off: `#` ends a line early.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("create namespace shop", "", "namespace/shop created"),
    (
        "apply -n shop -f -",
        MANIFEST,
        "configmap/settings created\nservice/web created\nnetworkpolicy.networking.k8s.io/web created",
    ),
    (
        "apply -n shop -f -",
        MANIFEST,
        "configmap/settings unchanged\nservice/web unchanged\nnetworkpolicy.networking.k8s.io/web unchanged",
    ),
    (
        "apply -n shop --server-side --force-conflicts -f -",
        MANIFEST,
        "configmap/settings serverside-applied\nservice/web serverside-applied\nnetworkpolicy.networking.k8s.io/web serverside-applied",
    ),
    ("get configmap -n shop settings", "", "NAME       DATA   AGE\nsettings   2      #"),
    ("get networkpolicy -n shop", "", "NAME   POD-SELECTOR   AGE\nweb    app=web        #"),
    ("get service -n shop -o jsonpath={.items[*].spec.ports[*].port}", "", "80 443"),
    ("get service -n shop -l app=web -o name", "", "service/web"),
    ("get service -n shop -l app!=web -o name", "", ""),
    ("get service -A --field-selector metadata.name=web -o name", "", "service/web"),
    ("label service -n shop web tier=front", "", "service/web labeled"),
    ("annotate service -n shop web note=hello", "", "service/web annotated"),
    (
        "patch service -n shop web -p {\"spec\":{\"ports\":[{\"port\":80,\"targetPort\":8080}]}}",
        "",
        "service/web patched",
    ),
    ("get service -n shop web -o jsonpath={.spec.ports[?(@.port==80)].targetPort}", "", "8080"),
    (
        "patch configmap -n shop settings --type=merge -p {\"data\":{\"a\":null}}",
        "",
        "configmap/settings patched",
    ),
    (
        "patch configmap -n shop settings --type=json -p [{\"op\":\"add\",\"path\":\"/data/c\",\"value\":\"3\"}]",
        "",
        "configmap/settings patched",
    ),
    ("get configmap -n shop settings -o jsonpath={.data}", "", "{\"b\":\"2\",\"c\":\"3\"}"),
    ("create configmap -n shop plain --from-literal=k=v", "", "configmap/plain created"),
    ("create secret generic -n shop hidden --from-literal=k=v", "", "secret/hidden created"),
    ("get secret -n shop hidden -o jsonpath={.data.k}", "", "dg=="),
    ("create deployment -n shop web --image=nginx:1", "", "deployment.apps/web created"),
    (
        "get deployment -n shop web",
        "",
        "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    0/1     0            0           #",
    ),
    ("apply -f -", CRD, "customresourcedefinition.apiextensions.k8s.io/gadgets.kubectl.example.com created"),
    (
        "wait --for=condition=Established crd/gadgets.kubectl.example.com --timeout=20s",
        "",
        "customresourcedefinition.apiextensions.k8s.io/gadgets.kubectl.example.com condition met",
    ),
    ("apply -n shop -f -", GADGET, "gadget.kubectl.example.com/one created"),
    ("get gadgets -n shop", "", "NAME   SIZE\none    3"),
    ("api-resources --api-group=kubectl.example.com -o name", "", "gadgets.kubectl.example.com"),
    ("delete gadget -n shop one", "", "gadget.kubectl.example.com \"one\" deleted"),
    (
        "delete crd gadgets.kubectl.example.com",
        "",
        "customresourcedefinition.apiextensions.k8s.io \"gadgets.kubectl.example.com\" deleted",
    ),
    ("delete configmap -n shop plain", "", "configmap \"plain\" deleted"),
    ("get configmap -n shop -o name", "", "configmap/settings"),
    ("auth can-i create pods", "", "yes"),
];

const MANIFEST: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: "1", b: "2"}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: https, port: 443}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {}}]}]}
"#;

const CRD: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"#;

const GADGET: &str = r#"
apiVersion: kubectl.example.com/v1
kind: Gadget
metadata: {name: one}
spec: {size: 3}
"#;

fn kubectl(kubeconfig: &Path, arguments: &str, input: &str) -> String {
    let mut child = Command::new("kubectl")
        .args(arguments.split(' '))
        .env("KUBECONFIG", kubeconfig)
        .env("HOME", kubeconfig.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl must be installed for this test");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "kubectl {arguments}: {errors}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn check_all(kubeconfig: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kubeconfig");
    std::fs::write(&path, kubeconfig).unwrap();
    for (arguments, input, expected) in COMMANDS {
        let printed = kubectl(&path, arguments, input);
        let lines: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let wanted: Vec<&str> = expected.lines().collect();
        assert_eq!(lines.len(), wanted.len(), "kubectl {arguments}: {printed}");
        for (line, wanted) in lines.iter().zip(wanted) {
            match wanted.strip_suffix('#') {
                Some(start) => assert!(line.starts_with(start), "kubectl {arguments}: {printed}"),
                None => assert_eq!(*line, wanted, "kubectl {arguments}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_works_on_the_simulator() {
    let fleet = SimFleet::start(FleetConfig::default()).await.unwrap();
    let kubeconfig = fleet.kubeconfig(&["management"]);
    #[expect(clippy::disallowed_methods, reason = "awaited at once")]
    tokio::task::spawn_blocking(move || check_all(&kubeconfig)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs etcd and kube-apiserver: make e2e"]
async fn kubectl_prints_the_same_on_the_real_server() {
    let dir = tempfile::tempdir().unwrap();
    let plane = ControlPlane::start(&assets().unwrap(), dir.path()).await.unwrap();
    let kubeconfig = plane.kubeconfig();
    #[expect(clippy::disallowed_methods, reason = "awaited at once")]
    tokio::task::spawn_blocking(move || check_all(&kubeconfig)).await.unwrap();
}
