#!/usr/bin/env python3
"""What is made from deploy/helm/sluice/values.yaml: README.md and values.schema.json. `--check` only says whether they are as they should be.

The schema names every key that values.yaml has, so that a key that is misspelt is refused before anything is installed. A map that is empty
in values.yaml takes any key; so does everything below `nats`, which is of another chart.
"""

import json
import pathlib
import re
import sys

CHART = pathlib.Path(__file__).resolve().parent.parent / "deploy/helm/sluice"
STAGES = ["agent", "matcher", "renderer", "deployer", "inspect"]
# What the type of a default does not say.
SAID = {
    "bus.url": {"pattern": r"^$|^(nats|tls|ws|wss)://[^\s]+$"},
    "bus.shards": {"minimum": 1, "maximum": 256},
    "bus.streamReplicas": {"enum": [1, 3, 5]},
    "bus.tombstoneTtlSeconds": {"minimum": 1},
    "bus.accounts.kind": {"enum": ["seed", "creds"]},
    "bus.accounts.clusters": {"items": {"type": "string", "pattern": "^[^/]+/[^/]+$"}},
    "image.pullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
    "image.digests": {"additionalProperties": {"type": "string", "pattern": "^$|^sha256:[0-9a-f]{64}$"}},
    "stages.replicas": {"minimum": 0},
    "stages.logFormat": {"enum": ["text", "json"]},
    "stages.autoscaling.kind": {"enum": ["", "hpa", "keda"]},
    "stages.podDisruptionBudget.maxUnavailable": {"type": ["integer", "string"]},
    "inspect.oidc.issuer": {"pattern": "^$|^https://[^\\s?#]+$"},
    "inspect.oidc.pageUrl": {"pattern": "^$|^https://[^\\s?#]+/ui/$"},
    "inspect.oidc.groups": {"items": {"type": "string", "pattern": "^[^,]+$"}},
    "inspect.oidc.audiences": {"items": {"type": "string", "pattern": "^[^,]+$"}},
    "clusters.forgetAfterSeconds": {"minimum": 1},
    "rbac.extraRules": {"propertyNames": {"enum": ["agent", "renderer", "deployer", "inspect"]}},
    "rbac.namespaces": {"items": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}, "uniqueItems": True},
    "rbac.tenants": {"items": {"type": "object", "required": ["namespace", "name"]}},
    "extraObjects": {"items": {"type": ["object", "string"]}},
}
OPEN = {"nats", "stages.podSecurityContext", "stages.securityContext", "stages.topologySpreadConstraints"}
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
    # Helm hands these to every chart.
    made["properties"]["global"] = {"type": "object"}
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart sluice", **made}


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
    made = {
        CHART / "values.schema.json": json.dumps(whole(yaml.safe_load(text)), indent=2) + "\n",
        CHART / "README.md": readme(text),
    }
    stale = [place for place, content in made.items() if not place.exists() or place.read_text(encoding="utf-8") != content]
    if "--check" in sys.argv[1:]:
        if stale:
            sys.exit(f"{', '.join(place.name for place in stale)}: not what values.yaml says; run scripts/chart_values.py")
        return
    for place, content in made.items():
        place.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
