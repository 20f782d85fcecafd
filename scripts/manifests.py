#!/usr/bin/env python3
"""Writes deploy/kustomize and deploy/install.yaml from the charts: manifests.py [--check]

The charts are the one place where an installation is described. `helm template` fills them in, the marks of Helm go, and what is left is
sorted into the base of kustomize and its components. `--check` only says whether the files are as they should be.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    sys.exit("manifests: needs PyYAML: python3 -m pip install pyyaml")

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
NAMESPACE = "projectsveltos"
# One node that the component `nats` runs.
VALUES = {
    "image": {"registry": "registry.example/sluice"},
    "nats": {"enabled": False},
    "bus": {"url": "nats://sluice-nats-0.sluice-nats.projectsveltos.svc:4222"},
    "networkPolicies": {"enabled": True},
    "monitoring": {"podMonitor": {"enabled": True}, "rules": {"enabled": True}, "dashboards": {"enabled": True}},
}
HEAD = "# Made from deploy/helm by scripts/manifests.py.\n"


def chart(folder):
    """A copy of a chart without what it depends on: that is only there when somebody has fetched it."""
    place = pathlib.Path(tempfile.mkdtemp()) / "sluice"
    shutil.copytree(DEPLOY / "helm" / folder, place, symlinks=False)
    described = yaml.safe_load((place / "Chart.yaml").read_text(encoding="utf-8"))
    described.pop("dependencies", None)
    (place / "Chart.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    return place


def rendered(folder, values):
    helm = os.environ.get("HELM", "helm")
    command = [helm, "template", "sluice", str(chart(folder)), "--namespace", NAMESPACE, "--values", "-"]
    done = subprocess.run(command, input=yaml.safe_dump(values), text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"manifests: {folder}: {done.stderr}")
    return [bare(document) for document in yaml.safe_load_all(done.stdout) if document]


def bare(document):
    """Without the marks of Helm, and without the namespace that every installation has."""
    metadata = document["metadata"]
    metadata.get("labels", {}).pop("helm.sh/chart", None)
    metadata.get("labels", {}).pop("app.kubernetes.io/managed-by", None)
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if not key.startswith("helm.sh/")}
    metadata.pop("annotations", None)
    if annotations:
        metadata["annotations"] = annotations
    return document


def component_of(document):
    if document["apiVersion"].startswith("monitoring.coreos.com") or "-dashboard-" in document["metadata"]["name"]:
        return "components/monitoring"
    return "components/network-policies" if document["kind"] == "NetworkPolicy" else "base"


class Dumper(yaml.SafeDumper):
    """Texts of many lines are written as such."""

    def ignore_aliases(self, data):
        return True


def text(dumper, value):
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


Dumper.add_representer(str, text)


def dump(documents):
    return HEAD + "---\n".join(yaml.dump(document, Dumper=Dumper, sort_keys=False, width=140) for document in documents)


def made():
    """Every file with its content."""
    parts = {}
    for document in rendered("sluice", VALUES):
        parts.setdefault(component_of(document), []).append(document)
    files = {DEPLOY / "kustomize" / part / "sluice.yaml": dump(documents) for part, documents in parts.items()}
    return files


def installed():
    command = ["kubectl", "kustomize", str(DEPLOY / "kustomize/default")]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"manifests: deploy/kustomize/default: {done.stderr}")
    return (
        "# Sluice with a bus of one node, to try it: kubectl apply --server-side -f deploy/install.yaml\n"
        "# Made from deploy/kustomize/default by scripts/manifests.py. Say where your images are: image names begin with registry.example.\n"
        + done.stdout
    )


def keep(files, check):
    stale = [path for path, content in files.items() if not path.exists() or path.read_text(encoding="utf-8") != content]
    if check and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"manifests: not what the charts say: {names}; run scripts/manifests.py")
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")


def main():
    check = "--check" in sys.argv[1:]
    keep(made(), check)
    keep({DEPLOY / "install.yaml": installed()}, check)


if __name__ == "__main__":
    main()
