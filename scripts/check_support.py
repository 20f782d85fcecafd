#!/usr/bin/env python3
"""docs/support-matrix.md says what is built, tested and refused: its numbers are those of the code, of the charts and of the scripts."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "docs/support-matrix.md"
ROW = re.compile(r"^\| (1\.\d+) \|(.*)\|$", re.M)


def one(path, pattern):
    """What a file says, once."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)
    if not found:
        sys.exit(f"check_support: {path} has no {pattern}")
    return found


def built():
    """The patch of each minor version that the tests can be run on."""
    lines = (ROOT / "e2e/controlplane/versions").read_text(encoding="utf-8").splitlines()
    patches = [line.split()[0] for line in lines if line and not line.startswith("#")]
    patches.append(one("e2e/controlplane/go.mod", r"^\s*k8s\.io/kubernetes v([\d.]+)")[1])
    return {patch.rpartition(".")[0]: patch for patch in patches}


def complaints(page):
    oldest, newest = map(int, one("cli/src/install/check/server.rs", r"const TESTED: \(u32, u32\) = \((\d+), (\d+)\)").groups())
    rows = dict(ROW.findall(page))
    wanted = [f"1.{minor}" for minor in range(oldest, newest + 1)]
    if list(rows) != wanted:
        yield f"its versions of Kubernetes are {', '.join(rows)}; `sluice install check` takes {', '.join(wanted)}"
    patches = built()
    for version, row in rows.items():
        patch = patches.get(version)
        if patch and f" {patch}" not in row:
            yield f"{version}: e2e/controlplane builds {patch}, the row does not say so"
        if not patch and "not run" not in row:
            yield f"{version}: e2e/controlplane builds none, the row has to say `not run`"
    for chart in ("sluice", "sluice-crds"):
        asked = one(f"deploy/helm/{chart}/Chart.yaml", r'^kubeVersion: ">=1\.(\d+)\.0-0"$')[1]
        if int(asked) != oldest:
            yield f"deploy/helm/{chart}: asks for 1.{asked}, `sluice install check` for 1.{oldest}"
    for name, path, pattern in [
        ("nats-server", "scripts/install-nats.sh", r"^MINIMUM=(\S+)"),
        ("nats-server", "scripts/install-nats.sh", r"^PINNED=(\S+)"),
        ("Helm", "scripts/install-helm.sh", r"^VERSION=v(\S+)"),
    ]:
        number = one(path, pattern)[1]
        if not re.search(rf"^\| {name}\b.*\b{re.escape(number)}\b", page, re.M):
            yield f"{name}: {path} has {number}, the row does not"


def main():
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    found = list(complaints(page))
    if found:
        sys.exit("\n".join(f"{PAGE}: {text}" for text in found))
    print("the support matrix is that of the code")


if __name__ == "__main__":
    main()
