#!/usr/bin/env python3
"""What is made from values.yaml of the charts: README.md and values.schema.json. `--check` only says whether they are as they should be.

The schema names every key that values.yaml has, so that a key that is misspelt is refused before anything is installed. A map that is empty
in values.yaml takes any key; so does everything below `nats`, which is of another chart.
"""

import json
import pathlib
import re
import sys

CHARTS = pathlib.Path(__file__).resolve().parent.parent / "deploy/helm"
CHART = CHARTS / "sluice"
STAGES = ["agent", "matcher", "renderer", "deployer", "inspect"]
STRINGS = {"additionalProperties": {"type": "string"}}
LIST_OF_STRINGS = {"items": {"type": "string"}}
LIST_OF_OBJECTS = {"items": {"type": "object"}}
BLOCKS = {
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["cidr", "ports"],
        "properties": {"cidr": {"type": "string"}, "ports": {"type": "array", "minItems": 1, "items": {"type": "integer"}}},
    }
}
# What the type of a default does not say.
SAID = {
    "commonLabels": STRINGS,
    "commonAnnotations": STRINGS,
    "bus.url": {"pattern": r"^$|^(nats|tls|ws|wss)://[^\s]+$"},
    "bus.shards": {"minimum": 1, "maximum": 256},
    "bus.streamReplicas": {"enum": [1, 3, 5]},
    "bus.tombstoneTtlSeconds": {"minimum": 1},
    "bus.accounts.kind": {"enum": ["seed", "creds"]},
    "bus.accounts.secrets": {**STRINGS, "propertyNames": {"enum": STAGES}},
    "bus.accounts.clusters": {"items": {"type": "string", "pattern": "^[^/]+/[^/]+$"}},
    "bus.accounts.pulling": {"items": {"type": "string", "pattern": "^[^/]+/[^/]+$"}},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "image.digests": {
        "propertyNames": {"enum": ["agent", "matcher", "renderer", "deployer", "cli"]},
        "additionalProperties": {"type": "string", "pattern": "^$|^sha256:[0-9a-f]{64}$"},
    },
    "image.pullSecrets": LIST_OF_STRINGS,
    "stages.replicas": {"minimum": 0},
    "stages.logFormat": {"enum": ["text", "json"]},
    "stages.extraArgs": LIST_OF_STRINGS,
    "stages.extraEnv": LIST_OF_OBJECTS,
    "stages.extraVolumes": LIST_OF_OBJECTS,
    "stages.extraVolumeMounts": LIST_OF_OBJECTS,
    "stages.podLabels": STRINGS,
    "stages.podAnnotations": STRINGS,
    "stages.serviceAccount.annotations": STRINGS,
    "stages.nodeSelector": STRINGS,
    "stages.tolerations": LIST_OF_OBJECTS,
    "stages.topologySpreadConstraints": LIST_OF_OBJECTS,
    "stages.autoscaling.kind": {"enum": ["", "hpa", "keda"]},
    "stages.podDisruptionBudget.maxUnavailable": {"type": ["integer", "string"]},
    "renderer.chartHosts": LIST_OF_STRINGS,
    "renderer.withdrawGuard": {"pattern": "^$|^off$|^[0-9]{1,2}%?$"},
    "deployer.metricHosts": LIST_OF_STRINGS,
    "deployer.pruneGuard": {"pattern": "^$|^off$|^[0-9]{1,9},([0-9]{1,2}|100)$"},
    "inspect.service.annotations": STRINGS,
    "inspect.oidc.issuer": {"pattern": "^$|^https://[^\\s?#]+$"},
    "inspect.oidc.pageUrl": {"pattern": "^$|^https://[^\\s?#]+/ui/$"},
    "inspect.oidc.groups": {"items": {"type": "string", "pattern": "^[^,]+$"}},
    "inspect.oidc.audiences": {"items": {"type": "string", "pattern": "^[^,]+$"}},
    "clusters.forgetAfterSeconds": {"minimum": 1},
    "rbac.extraRules": {"propertyNames": {"enum": ["agent", "renderer", "deployer", "inspect"]}},
    "rbac.namespaces": {"items": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}, "uniqueItems": True},
    "rbac.tenants": {"items": {"type": "object", "required": ["namespace", "name"]}},
    "networkPolicies.metricsFrom": LIST_OF_OBJECTS,
    "networkPolicies.inspectFrom": LIST_OF_OBJECTS,
    "networkPolicies.busFrom": LIST_OF_OBJECTS,
    "networkPolicies.extraEgress": LIST_OF_OBJECTS,
    "networkPolicies.apiServers": BLOCKS,
    "networkPolicies.charts": BLOCKS,
    "networkPolicies.oidc": BLOCKS,
    "networkPolicies.bus": BLOCKS,
    "monitoring.podMonitor.labels": STRINGS,
    "monitoring.rules.labels": STRINGS,
    "monitoring.dashboards.labels": STRINGS,
    "extraObjects": {"items": {"type": ["object", "string"]}},
}
OPEN = {"nats", "stages.podSecurityContext", "stages.securityContext", "stages.topologySpreadConstraints", "monitoring.dashboards.labels"}
# Of a stage's values those that make no sense for Inspect, which has no shards: KEDA goes by their lag.
SCALED_BY_LAG = ("lagRows", "prometheus")
LINE = re.compile(r"^( *)([A-Za-z][A-Za-z0-9]*):(?: (.*))?$")


def keys(text):
    """Every key of the file with its comment and the default that is written beside it: (path, comment, default)."""
    path, comment, found = [], [], []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            comment.append(stripped[1:].strip())
            continue
        match = LINE.match(line)
        if match and len(match[1]) % 2 == 0 and len(match[1]) // 2 <= len(path):
            depth = len(match[1]) // 2
            path = [*path[:depth], match[2]]
            found.append((".".join(path), " ".join(comment), match[3] or ""))
        if stripped:
            comment = []
        elif comment:
            # A comment that stands alone is about the file.
            comment = []
    return found


def type_of(value):
    kinds = [(bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array"), (dict, "object")]
    return next(name for kind, name in kinds if isinstance(value, kind))


def schema(value, path=""):
    """The schema of a value of values.yaml."""
    made = {"type": type_of(value)}
    if isinstance(value, dict) and value and path not in OPEN:
        made["additionalProperties"] = False
        made["properties"] = {key: schema(inner, f"{path}.{key}".lstrip(".")) for key, inner in value.items()}
    return {**made, **SAID.get(path, {})}


def whole(values):
    """Of all values: a stage takes what all stages take, and what is its own."""
    made = schema(values)
    common = made["properties"]["stages"]["properties"]
    for stage in STAGES:
        own = made["properties"][stage]
        own["properties"] = {**common, **own["properties"], "resources": {"type": "object"}}
    inspect = made["properties"]["inspect"]["properties"]
    scaling = {key: value for key, value in common["autoscaling"]["properties"].items() if key not in SCALED_BY_LAG}
    scaling["kind"] = {"type": "string", "enum": ["", "hpa"]}
    inspect["autoscaling"] = {**common["autoscaling"], "properties": scaling}
    return titled(made, "sluice")


def titled(made, chart):
    # Helm hands these to every chart.
    made["properties"]["global"] = {"type": "object"}
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"Values of the chart {chart}", **made}


def readme(text):
    parts = [
        "# sluice\n\nInstalls Sluice into a management cluster: four stages, the Inspect service and, unless there is one already, a bus. How to go "
        "about it: [install](../../../docs/operations/install.md).\n\n"
        "    helm install sluice-crds deploy/helm/sluice-crds\n"
        "    helm dependency build deploy/helm/sluice\n"
        "    helm install sluice deploy/helm/sluice --namespace projectsveltos --create-namespace --set image.registry=registry.example/sluice\n\n"
        "`values-ha.yaml` is for production, `values-namespaced.yaml` for a management cluster that is shared. This page is made from `values.yaml` by `scripts/chart_values.py`.\n"
    ]
    for path, comment, default in keys(text):
        if comment.startswith("-- "):
            title, _, rest = comment[3:].partition(":" if ":" in comment.split(".")[0] else ".")
            parts.append(f"\n## {title.strip()}\n\n{(rest.strip()[:1].upper() + rest.strip()[1:]) or title}\n\n| value | default | |\n|---|---|---|")
            comment = ""
        if path.startswith("nats.") and path != "nats.enabled":
            continue
        if "." in path or default:
            shown = f"`{default}`" if default else ""
            parts.append(f"| `{path}` | {shown} | {comment} |".replace("| |", "| |"))
    return "\n".join(parts) + "\n"


def main():
    try:
        import yaml
    except ImportError:
        sys.exit("chart_values: needs PyYAML: python3 -m pip install pyyaml")
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    definitions = yaml.safe_load((CHARTS / "sluice-crds/values.yaml").read_text(encoding="utf-8"))
    made = {
        CHART / "values.schema.json": json.dumps(whole(yaml.safe_load(text)), indent=2) + "\n",
        CHART / "README.md": readme(text),
        CHARTS / "sluice-crds/values.schema.json": json.dumps(titled(schema(definitions), "sluice-crds"), indent=2) + "\n",
    }
    stale = [place.relative_to(CHARTS.parent) for place, content in made.items() if not place.exists() or place.read_text(encoding="utf-8") != content]
    if "--check" in sys.argv[1:]:
        if stale:
            sys.exit(f"{', '.join(str(place) for place in stale)}: not what values.yaml says; run scripts/chart_values.py")
        return
    for place, content in made.items():
        place.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
