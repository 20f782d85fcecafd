#!/usr/bin/env python3
"""The charts: linted, filled in with each file of ci/, and looked at; what is made from them is as they say. HELM names helm.

With CHECK_CHARTS_SERVER (a kubeconfig of an API server) everything is also applied there as a dry run, but for kinds of other operators.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from chart_render import CHARTS, HELM, ROOT, find, pods, with_stand_in, yaml

STAGES = ["agent", "matcher", "renderer", "deployer"]
OTHERS = {"PodMonitor", "PrometheusRule", "ScaledObject"}
failures = []


def expect(holds, text):
    if not holds:
        failures.append(text)


def run(*command, text=None):
    return subprocess.run([str(part) for part in command], input=text, text=True, capture_output=True)


def rendered(chart, *arguments):
    done = run(HELM, "template", "sluice", chart, "--namespace", "projectsveltos", *arguments)
    return done.stderr if done.returncode else [document for document in yaml.safe_load_all(done.stdout) if document]


def check_restricted(name, documents):
    """Pod security, for every pod."""
    for document, pod in pods(documents):
        what = f"{name}: {document['kind']} {document['metadata']['name']}"
        security = pod["securityContext"]
        expect(security["runAsNonRoot"] and security["seccompProfile"]["type"] == "RuntimeDefault", f"{what}: not restricted")
        for container in pod["containers"]:
            own = container["securityContext"]
            expect(own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"], f"{what}: may write or gain rights")
            expect(own["capabilities"]["drop"] == ["ALL"], f"{what}: has capabilities")
            expect("limits" in container["resources"], f"{what}: has no limit of memory")
            mounted = {mount["name"] for mount in container["volumeMounts"]} if "volumeMounts" in container else set()
            expect(mounted == {volume["name"] for volume in pod.get("volumes", [])}, f"{what}: volumes and mounts differ")


def variables(documents, component):
    container = find(documents, "Deployment", f"sluice-{component}")["spec"]["template"]["spec"]["containers"][0]
    return {one["name"]: one.get("value") for one in container["env"]}


def check_issuer(documents):
    """Inspect with an issuer: its flags, its files and the way to it."""
    env = variables(documents, "inspect")
    wanted = {
        "SLUICE_INSPECT_AUTHENTICATE": "oidc",
        "SLUICE_INSPECT_OIDC_ISSUER": "https://id.example",
        "SLUICE_INSPECT_OIDC_CLIENT_ID": "sluice",
        "SLUICE_INSPECT_OIDC_GROUPS": "platform,on-call",
        "SLUICE_INSPECT_OIDC_GROUPS_CLAIM": "groups",
        "SLUICE_INSPECT_OIDC_AUDIENCE": "programs",
        "SLUICE_INSPECT_OIDC_SCOPES": "openid email",
        "SLUICE_INSPECT_OIDC_PAGE_URL": "https://inspect.example/ui/",
        "SLUICE_INSPECT_OIDC_CLIENT_SECRET_FILE": "/etc/sluice/oidc-client/client-secret",
        "SLUICE_INSPECT_OIDC_CA": "/etc/sluice/oidc-ca/ca.crt",
    }
    found = {name: env.get(name) for name in wanted}
    expect(found == wanted, f"everything: {found}")
    pod = find(documents, "Deployment", "sluice-inspect")["spec"]["template"]["spec"]
    places = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    secrets = {places[one["name"]]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
    for place, secret in {"tls": "inspect-tls", "oidc-client": "inspect-oidc", "oidc-ca": "inspect-oidc-ca"}.items():
        expect(secrets.get(f"/etc/sluice/{place}") == secret, f"everything: {place} is {secrets}")
    way = find(documents, "NetworkPolicy", "sluice-oidc")["spec"]["egress"]
    expect(way == [{"to": [{"ipBlock": {"cidr": "198.51.100.7/32"}}], "ports": [{"port": 8443}]}], f"everything: {way}")


def check_minimal(documents):
    for stage in [*STAGES, "inspect"]:
        deployment = find(documents, "Deployment", f"sluice-{stage}")
        expect(deployment is not None, f"minimal: no Deployment of {stage}")
        if not deployment:
            continue
        pod = deployment["spec"]["template"]["spec"]
        env = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
        expect(deployment["spec"]["replicas"] == 2, f"minimal: {stage} has not two replicas")
        expect(find(documents, "PodDisruptionBudget", f"sluice-{stage}"), f"minimal: {stage} has no budget")
        expect(pod["automountServiceAccountToken"] == (stage != "matcher"), f"minimal: token of {stage}")
        expect(env["SLUICE_NATS_URL"] == "nats://sluice-nats-0.sluice-nats-headless.projectsveltos.svc:4222", f"minimal: {env['SLUICE_NATS_URL']}")
        expect(bool(find(documents, "ClusterRole", f"sluice-{stage}")) == (stage != "matcher"), f"minimal: role of {stage}")
    env = variables(documents, "inspect")
    expect(env["SLUICE_INSPECT_AUTHENTICATE"] == "kubernetes" and "SLUICE_INSPECT_OIDC_ISSUER" not in env, "minimal: an issuer that nobody named")
    expect(find(documents, "ConfigMap", "stand-in-for-nats"), "minimal: the dependency is not there")
    expect(not [one for one in documents if one["kind"] == "NetworkPolicy"], "minimal: network policies that nobody asked for")
    wild = [rule for one in documents if one["kind"] == "ClusterRole" and "people" not in one["metadata"]["labels"].values()
            for rule in one["rules"] if "*" in rule["verbs"] + rule.get("resources", []) + rule["apiGroups"]]
    expect(not wild, f"minimal: wildcards: {wild}")


def check_external(documents):
    env = {one["name"]: one.get("value") for one in find(documents, "Deployment", "sluice-agent")["spec"]["template"]["spec"]["containers"][0]["env"]}
    expect(env["SLUICE_NATS_URL"].startswith("tls://nats-0.nats.example:4222,"), f"external: {env['SLUICE_NATS_URL']}")
    expect({"SLUICE_NATS_CA", "SLUICE_NATS_CERT", "SLUICE_NATS_KEY", "SLUICE_NATS_TLS_FIRST", "SLUICE_ALLOW_KUBECONFIG_PROXIES"} <= env.keys(), "external: flags of TLS")
    expect(not find(documents, "ConfigMap", "stand-in-for-nats"), "external: a bus that nobody asked for")
    expect("replicas" not in find(documents, "Deployment", "sluice-matcher")["spec"], "external: replicas of what is scaled")
    expect(find(documents, "ScaledObject", "sluice-matcher") and find(documents, "HorizontalPodAutoscaler", "sluice-renderer"), "external: scaling")
    image = find(documents, "Deployment", "sluice-matcher")["spec"]["template"]["spec"]["containers"][0]["image"]
    expect(image == "registry.example/sluice/sluice-matcher@sha256:" + "0" * 64, f"external: {image}")
    rules = find(documents, "ClusterRole", "sluice-deployer")["rules"]
    expect({"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]} in rules, "external: extraRules")
    expect(find(documents, "Role", "sluice-as-deployer"), "external: the role for a tenant")
    opened = find(documents, "NetworkPolicy", "sluice-bus")["spec"]["egress"]
    expect(opened == [{"ports": [{"port": 4222}, {"port": 4222}]}], f"external: {opened}")


def check_everything(documents):
    rules = find(documents, "PrometheusRule", "sluice")["spec"]
    expect(rules == yaml.safe_load((ROOT / "deploy/monitoring/sluice.rules.yml").read_text(encoding="utf-8")), "everything: rules differ from the file")
    shown = sorted(one["metadata"]["name"] for one in documents if "-dashboard-" in one["metadata"]["name"])
    files = sorted(f"sluice-dashboard-{path.stem}" for path in (ROOT / "deploy/monitoring/dashboards").glob("*.json"))
    expect(shown == files, f"everything: dashboards {shown}")
    for document in documents:
        if document["metadata"]["name"] in ("stand-in-for-nats", "sluice-extra", "sluice-text"):
            continue
        metadata = document["metadata"]
        expect(metadata["labels"]["team"] == "platform" and metadata["annotations"]["example.com/owner"] == "platform", f"everything: {document['kind']} {metadata['name']}")
    expect(find(documents, "ConfigMap", "sluice-extra") and find(documents, "ConfigMap", "sluice-text"), "everything: extra objects")
    args = find(documents, "Job", "sluice-setup")["spec"]["template"]["spec"]["containers"][0]["args"]
    expect("--cluster=default/shop" in args, f"everything: {args}")
    check_issuer(documents)
    nodes = find(documents, "NetworkPolicy", "sluice-to-bus")["spec"]
    expect(nodes["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == "nats" and nodes["policyTypes"] == ["Ingress"], "everything: who reaches the bus")
    wanted = {
        "sluice-bus": {*STAGES, "inspect"},
        "sluice-api": {"agent", "renderer", "deployer", "inspect", "setup"},
        "sluice-charts": {"renderer"},
        "sluice-oidc": {"inspect"},
        "sluice-from-metrics": set(STAGES),
        "sluice-from-inspect": {"inspect"},
    }
    for name, whom in wanted.items():
        found = set(components(find(documents, "NetworkPolicy", name)))
        expect(found == whom, f"everything: {name} is for {sorted(found)}")
    rest = find(documents, "NetworkPolicy", "sluice")["spec"]
    names_only = [rule["ports"] for rule in rest["egress"]] == [[{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]]
    expect("ingress" not in rest and rest["policyTypes"] == ["Ingress", "Egress"] and names_only, "everything: the default is not to deny")


def components(policy):
    selector = policy["spec"]["podSelector"]
    names = [value for one in selector.get("matchExpressions", []) for value in one["values"]]
    return [*names, *filter(None, [selector.get("matchLabels", {}).get("app.kubernetes.io/component")])]


def check_refusals(chart):
    """What is wrong is said before anything is installed, with its name."""
    given = ("--set", "image.registry=r")
    for arguments, words in [
        ((), "image.registry"),
        ((*given, "--set", "nats.enabled=false"), "bus.url"),
        ((*given, "--set", "agnet.replicas=3"), "agnet"),
        ((*given, "--set", "agent.replcias=3"), "replcias"),
        ((*given, "--set", "bus.shards=0"), "shards"),
        ((*given, "--set", "bus.streamReplicas=2"), "streamReplicas"),
        ((*given, "--set", "matcher.autoscaling.kind=vpa"), "kind"),
        ((*given, "--set", "inspect.oidc.issuer=http://id.example"), "issuer"),
        ((*given, "--set", "inspect.oidc.issuer=https://id.example"), "inspect.oidc.clientId"),
        ((*given, "--set", "inspect.oidc.pageUrl=https://inspect.example/ui/"), "inspect.oidc.issuer"),
        ((*given, "--set", "inspect.oidc.pageUrl=https://inspect.example"), "pageUrl"),
        ((*given, "--set", "inspect.oidc.issuer=https://id.example,inspect.oidc.clientId=a,inspect.oidc.pageUrl=https://a.example/ui/,inspect.ui=false"), "set inspect.ui"),
    ]:
        said = rendered(chart, *arguments)
        expect(isinstance(said, str) and words in said, f"{arguments}: {said if isinstance(said, str) else 'was taken'}")


def check_ha(chart):
    documents = rendered(chart, "--values", CHARTS / "sluice/values-ha.yaml", "--set", "image.registry=r")
    env = {one["name"]: one.get("value") for one in find(documents, "Deployment", "sluice-agent")["spec"]["template"]["spec"]["containers"][0]["env"]}
    expect(env["SLUICE_NATS_URL"].count("nats://") == 3 and env["SLUICE_STREAM_REPLICAS"] == "3", f"ha: {env['SLUICE_NATS_URL']}")


# What a ClusterRole may write where `rbac.namespaces` are named: kinds without a namespace.
WITHOUT_NAMESPACE = {"eventsources", "eventtriggers", "eventbasedaddons", "clustersets", "rolerequests", "clusterprofiles", "subjectaccessreviews", "tokenreviews"}
READS = {"list", "watch"}


def calls(rules):
    return {(group, resource, verb) for rule in rules for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}


def check_namespaced(chart):
    """Stages write in the namespaces that are named, and may do no more and no less in them than everywhere."""
    values = CHARTS / "sluice/values-namespaced.yaml"
    documents = rendered(chart, "--values", values, "--set", "image.registry=r", "--set", "rbac.namespaces={projectsveltos,team-a}")
    everywhere = rendered(chart, "--set", "image.registry=r")
    for document in documents:
        if document["kind"] == "ClusterRole":
            wide = {call for call in calls(document["rules"]) if call[2] not in READS and call[1].split("/")[0] not in WITHOUT_NAMESPACE}
            expect(not wide, f"namespaced: {document['metadata']['name']} may everywhere {sorted(wide)}")
    places = {}
    for document in documents:
        if document["kind"] == "Role" and document["metadata"]["name"].endswith("-writes"):
            places.setdefault(document["metadata"]["name"], {})[document["metadata"]["namespace"]] = calls(document["rules"])
    for stage in ("renderer", "deployer"):
        found = places.get(f"sluice-{stage}-writes", {})
        wanted = calls(find(everywhere, "ClusterRole", f"sluice-{stage}")["rules"]) - calls(find(documents, "ClusterRole", f"sluice-{stage}")["rules"])
        expect(wanted and found.get("projectsveltos") == wanted and found.get("team-a") == wanted, f"namespaced: {stage} writes {found}, not {wanted}")
    expect(places["sluice-renderer-writes"].get("default") == {("", "events", "create"), ("", "events", "patch")}, "namespaced: Events in default")
    bound = {(one["metadata"]["name"], one["metadata"]["namespace"]) for one in documents if one["kind"] == "RoleBinding"}
    roles = {(one["metadata"]["name"], one["metadata"]["namespace"]) for one in documents if one["kind"] == "Role"}
    expect(bound == roles, f"namespaced: {bound ^ roles} is a Role or a binding alone")
    check_on_server("namespaced", documents)


def check_crds():
    documents = rendered(CHARTS / "sluice-crds")
    names = {path.stem for path in (ROOT / "deploy/crds").glob("*_*.yaml")}
    expect(len(documents) == len(names), f"crds: {len(documents)} of {len(names)}")
    expect(all(one["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep" for one in documents), "crds: not kept")


def check_on_server(name, documents):
    kubeconfig = os.environ.get("CHECK_CHARTS_SERVER")
    if not kubeconfig:
        return
    run("kubectl", "--kubeconfig", kubeconfig, "create", "namespace", "projectsveltos")
    run("kubectl", "--kubeconfig", kubeconfig, "create", "namespace", "team-a")
    text = yaml.safe_dump_all([one for one in documents if one["kind"] not in OTHERS])
    done = run("kubectl", "--kubeconfig", kubeconfig, "apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", text=text)
    expect(done.returncode == 0, f"{name}: {done.stderr}")


def main():
    for script in ("chart_values.py", "manifests.py"):
        done = run(ROOT / "scripts" / script, "--check")
        expect(done.returncode == 0, done.stderr)
    with tempfile.TemporaryDirectory() as place:
        chart = with_stand_in(pathlib.Path(place))
        checks = {"minimal": check_minimal, "external": check_external, "everything": check_everything}
        for name, check in checks.items():
            values = CHARTS / f"sluice/ci/{name}-values.yaml"
            linted = run(HELM, "lint", "--strict", chart, "--values", values)
            expect(linted.returncode == 0, f"{name}: {linted.stdout}{linted.stderr}")
            documents = rendered(chart, "--values", values)
            if isinstance(documents, str):
                failures.append(f"{name}: {documents}")
                continue
            check_restricted(name, documents)
            check(documents)
            check_on_server(name, documents)
        check_refusals(chart)
        check_ha(chart)
        check_namespaced(chart)
    check_crds()
    if failures:
        sys.exit("\n".join(f"check_charts: {failure}" for failure in failures))
    print("charts: linted, filled in and as they should be")


if __name__ == "__main__":
    main()
