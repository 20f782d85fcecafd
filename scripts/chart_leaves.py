#!/usr/bin/env python3
"""Every value of a chart does something: another one makes other objects.

The leaves are those of the schema, so that a stage's own values count beside those of all stages. A leaf that only counts beside another value
stands in WITH, with the reason; whoever needs no such value may not stand there.
"""

import collections
import concurrent.futures
import fnmatch
import json
import os
import re

from chart_render import LOADER, Refused, place_of, yaml

Leaf = collections.namedtuple("Leaf", "path schema default")

DIGEST = "sha256:" + "1" * 64
RULES = [{"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get", "list", "watch"]}]
PEERS = [{"podSelector": {"matchLabels": {"changed": "yes"}}}]
BLOCKS = [{"cidr": "192.0.2.0/24", "ports": [8443]}]
TEXTS = {"changed": "yes"}
# Other values, by path or by the last name of it, where the type alone does not say one.
CHANGED = {
    "affinity": {"nodeAffinity": {}},
    "annotations": TEXTS,
    "bus.accounts.clusters": ["default/shop"],
    "bus.accounts.pulling": ["edge/till"],
    "bus.accounts.secrets": {"agent": "changed"},
    "bus.url": "nats://bus.example:4222",
    "clusters.workloadIdentityNamespaces": ["changed"],
    "commonAnnotations": TEXTS,
    "commonLabels": TEXTS,
    "deployer.metricHosts": ["metrics.changed.example"],
    "deployer.pruneGuard": "50,80",
    "extraArgs": ["--changed"],
    "extraEnv": [{"name": "CHANGED", "value": "yes"}],
    "extraObjects": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "changed"}}],
    "extraVolumeMounts": [{"name": "changed", "mountPath": "/changed"}],
    "extraVolumes": [{"name": "changed", "emptyDir": {}}],
    "image.digests": {"agent": DIGEST},
    "image.pullSecrets": ["changed"],
    "inspect.oidc.audiences": ["changed"],
    "inspect.oidc.groups": ["changed"],
    "inspect.oidc.issuer": "https://changed.example",
    "inspect.oidc.pageUrl": "https://changed.example/ui/",
    "labels": TEXTS,
    "networkPolicies.apiServers": BLOCKS,
    "networkPolicies.bus": BLOCKS,
    "networkPolicies.busFrom": PEERS,
    "networkPolicies.charts": BLOCKS,
    "networkPolicies.extraEgress": [{"to": PEERS}],
    "networkPolicies.inspectFrom": PEERS,
    "networkPolicies.metricsFrom": PEERS,
    "networkPolicies.oidc": BLOCKS,
    "nodeSelector": TEXTS,
    "podAnnotations": TEXTS,
    "podLabels": TEXTS,
    "podSecurityContext": {"runAsUser": 1},
    "rbac.deploy": RULES,
    "rbac.extraRules": {"agent": RULES},
    "rbac.namespaces": ["changed"],
    "rbac.read": RULES,
    "rbac.tenants": [{"namespace": "changed", "name": "changed"}],
    "renderer.chartHosts": ["charts.changed.example"],
    "renderer.withdrawGuard": "off",
    "resources": {"limits": {"ephemeral-storage": "1Gi"}},
    "securityContext": {"privileged": False},
    "tolerations": [{"key": "changed"}],
    "topologySpreadConstraints": [{"topologyKey": "changed", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
}
TLS = {"bus.tls.enabled": True}
ISSUER = {"inspect.oidc.issuer": "https://id.example", "inspect.oidc.clientId": "sluice"}
ELSEWHERE = {"nats.enabled": False, "bus.url": "nats://bus.example:4222"}
POLICIES = {"networkPolicies.enabled": True}
# (leaves, what must be there beside them, why). `{of}` is whose value it is.
WITH = [
    ("nats.enabled", {"bus.url": "nats://bus.example:4222"}, "without NATS the bus is elsewhere"),
    ("bus.accounts.secrets", {"bus.accounts.create": False}, "Secrets that are there stand in for those that are made"),
    ("bus.accounts.kind", {"bus.accounts.create": False, "bus.accounts.secrets": {"agent": "there"}}, "it is what these Secrets hold"),
    ("bus.tls.caSecret", TLS, "it is for TLS"),
    ("bus.tls.caKey", {**TLS, "bus.tls.caSecret": "ca"}, "it is a key of that Secret"),
    ("bus.tls.clientSecret", TLS, "it is for TLS"),
    ("bus.tls.first", TLS, "it is for TLS"),
    ("stages.serviceAccount.name", {"stages.serviceAccount.create": False}, "one account is not made five times"),
    ("*.autoscaling.min", {"{of}.autoscaling.kind": "hpa"}, "it is for what is scaled"),
    ("*.autoscaling.max", {"{of}.autoscaling.kind": "hpa"}, "it is for what is scaled"),
    ("*.autoscaling.cpuPercent", {"{of}.autoscaling.kind": "hpa"}, "it is for what is scaled by processor"),
    ("*.autoscaling.lagRows", {"{of}.autoscaling.kind": "keda"}, "it is for what is scaled by lag"),
    ("*.autoscaling.prometheus", {"{of}.autoscaling.kind": "keda"}, "it is for what is scaled by lag"),
    ("inspect.oidc.clientSecret", {**ISSUER, "inspect.oidc.pageUrl": "https://inspect.example/ui/"}, "it is for the login of the page"),
    ("inspect.oidc.*", ISSUER, "it is for an issuer"),
    ("networkPolicies.bus", {**POLICIES, **ELSEWHERE}, "it is for a bus elsewhere"),
    ("networkPolicies.oidc", {**POLICIES, **ISSUER}, "it is for an issuer"),
    ("networkPolicies.[!e]*", POLICIES, "it is for network policies"),
    ("networkPolicies.extraEgress", POLICIES, "it is for network policies"),
    ("monitoring.podMonitor.[!e]*", {"monitoring.podMonitor.enabled": True}, "it is for that object"),
    ("monitoring.rules.labels", {"monitoring.rules.enabled": True}, "it is for that object"),
    ("monitoring.dashboards.labels", {"monitoring.dashboards.enabled": True}, "it is for these objects"),
]


def leaves(schema, defaults):
    """What can be set: by the schema, and where that is open by the defaults."""
    for path, below in paths(schema, ()):
        default = at(defaults, path)
        if default is None:
            # A stage says otherwise than all stages.
            default = at(defaults, ("stages", *path[1:]))
        if path == ("nats",):
            yield from (Leaf(inner, {}, value) for inner, value in values_below(default, path))
        elif path != ("global",):  # which is Helm's
            yield Leaf(path, below, default)


def paths(schema, path):
    inner = schema.get("properties")
    if not inner:
        yield path, schema
        return
    for key, below in inner.items():
        yield from paths(below, (*path, key))


def values_below(value, path):
    if not isinstance(value, dict) or not value:
        yield path, value
        return
    for key, inner in value.items():
        yield from values_below(inner, (*path, key))


def at(values, path):
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values


def other(leaf):
    """Another value than the default, of the same type."""
    name, kind = ".".join(leaf.path), type(leaf.default)
    for known in (name, leaf.path[-1]):
        if known in CHANGED and leaf.path[0] != "nats":
            return CHANGED[known]
    if "enum" in leaf.schema:
        return next(one for one in leaf.schema["enum"] if one not in ("", leaf.default))
    if kind is bool:
        return not leaf.default
    if kind is int:
        return leaf.default + 1
    if kind is str and re.search(leaf.schema.get("pattern", ""), "changed"):
        return "changed"
    if leaf.path[0] == "nats":
        # What is below is the dependency's: any other value will do.
        return ["changed"] if kind is list else TEXTS
    raise KeyError(f"{name}: write into CHANGED what else it can be")


def beside(leaf):
    """What must be there, and the number of the entry of WITH that says so."""
    name = ".".join(leaf.path)
    for number, (pattern, values, _) in enumerate(WITH):
        if fnmatch.fnmatchcase(name, pattern):
            return {key.replace("{of}", leaf.path[0]): value for key, value in values.items()}, number
    return {}, None


def twice(documents):
    places = collections.Counter(map(place_of, documents))
    return sorted(place for place, count in places.items() if count > 1)


def complaint(chart, leaf):
    """What is wrong with a leaf; nothing if it does something."""
    name, changed, (given, number) = ".".join(leaf.path), other(leaf), beside(leaf)
    try:
        documents = chart.objects({**given, leaf.path: changed})
        if documents == chart.objects(given):
            return f"{name}: {json.dumps(changed)} makes the same objects as {json.dumps(leaf.default)}"
        if twice(documents):
            return f"{name}: {json.dumps(changed)} makes twice {twice(documents)}"
    except Refused as why:
        return f"{name}: {why}"
    if number is not None and not chart.refusal({leaf.path: changed}) and chart.objects({leaf.path: changed}) != chart.objects():
        return f"{name}: needs nothing of WITH, which says: {WITH[number][2]}"
    return None


def complaints(chart):
    """What is wrong with the values of a chart, and how many leaves were looked at."""
    schema = json.loads((chart.path / "values.schema.json").read_text(encoding="utf-8"))
    defaults = yaml.load((chart.path / "values.yaml").read_text(encoding="utf-8"), LOADER)
    every = list(leaves(schema, defaults))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda leaf: complaint(chart, leaf), every))
    return [one for one in found if one], every


def unused(every):
    """What stands in the tables for no leaf."""
    names = {".".join(leaf.path) for leaf in every if leaf.path[0] != "nats"} | {leaf.path[-1] for leaf in every}
    used = {beside(leaf)[1] for leaf in every}
    yield from (f"CHANGED: {name} is no value" for name in CHANGED if name not in names)
    yield from (f"WITH: {entry[0]} is no value" for number, entry in enumerate(WITH) if number not in used)
