#!/usr/bin/env python3
"""A chart as Helm fills it in, for the tests of the charts. HELM names helm."""

import os
import pathlib
import shutil
import subprocess
import sys
import threading

try:
    import yaml
except ImportError:
    sys.exit("chart_render: needs PyYAML: python3 -m pip install pyyaml")

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHARTS = ROOT / "deploy/helm"
HELM = os.environ.get("HELM", "helm")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# It says what it is given, so that a test sees what reaches it.
STAND_IN = """apiVersion: v1
kind: ConfigMap
metadata: {name: stand-in-for-nats}
data: {values: {{ toJson .Values | quote }}}
"""


class Refused(Exception):
    """Helm does not fill the chart in; its text says why."""


def with_stand_in(place):
    """The chart `sluice` in a folder, with something in place of the chart of NATS."""
    chart = place / "sluice"
    shutil.copytree(CHARTS / "sluice", chart, symlinks=False)
    nats = chart / "charts/nats"
    (nats / "templates").mkdir(parents=True)
    described = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    version = described["dependencies"][0]["version"]
    (nats / "Chart.yaml").write_text(f"apiVersion: v1\nname: nats\nversion: {version}\n", encoding="utf-8")
    (nats / "templates/marker.yaml").write_text(STAND_IN, encoding="utf-8")
    return chart


def nested(values):
    """{("a", "b"): 1} as {"a": {"b": 1}}; a name with dots is a path, too."""
    made = {}
    for path, value in values.items():
        path = path.split(".") if isinstance(path, str) else path
        place = made
        for key in path[:-1]:
            place = place.setdefault(key, {})
        place[path[-1]] = value
    return made


class Chart:
    """A chart that is filled in once for each set of values."""

    def __init__(self, path, base=None, namespace="projectsveltos"):
        self.path, self.base, self.namespace = path, base or {}, namespace
        self.known, self.lock = {}, threading.Lock()

    def helm(self, command, values):
        given = yaml.safe_dump(nested({**self.base, **(values or {})}))
        done = subprocess.run(
            [HELM, *command, "sluice", str(self.path), "--namespace", self.namespace, "--values", "-"],
            input=given, text=True, capture_output=True,
        )
        if done.returncode:
            raise Refused(done.stderr)
        return done.stdout

    def objects(self, values=None):
        """What is made of these values. Whoever asks again gets the same objects: they are not to be changed."""
        key = repr(sorted((values or {}).items(), key=repr))
        with self.lock:
            known = self.known.get(key)
        if known is None:
            known = [document for document in yaml.load_all(self.helm(["template"], values), LOADER) if document]
            with self.lock:
                self.known[key] = known
        return known

    def notes(self, values=None):
        """What Helm tells whoever has installed it."""
        return self.helm(["install", "--dry-run=client"], values).partition("\nNOTES:\n")[2]

    def refusal(self, values):
        """Why it is not filled in; nothing when it is."""
        try:
            self.objects(values)
        except Refused as why:
            return str(why)
        return ""


def place_of(document):
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def find(documents, kind, name):
    return next((document for document in documents if document["kind"] == kind and document["metadata"]["name"] == name), None)


def of_kind(documents, *kinds):
    return [document for document in documents if document["kind"] in kinds]


def pods(documents):
    """Every object that makes pods, with what it says of them."""
    for document in of_kind(documents, "Deployment", "Job"):
        yield document, document["spec"]["template"]["spec"]
