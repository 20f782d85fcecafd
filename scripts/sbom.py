#!/usr/bin/env python3
"""Prints what a release is made of as SPDX 2.3 in JSON: every crate of Cargo.lock, with its checksum, its licence and what it needs.

The same source gives the same text: its time is SOURCE_DATE_EPOCH (the last commit's without it), its name the version and the commit.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What is installed; everything else is in the list because one of these needs it, or because it tests them.
DESCRIBED = ["sluice-cli", "sluice-agent", "sluice-matcher", "sluice-renderer", "sluice-deployer"]
# A kind of dependency, as cargo says it: the relation of SPDX, and whether it is told of the crate that is needed.
RELATIONS = {
    None: ("DEPENDS_ON", False),
    "build": ("BUILD_DEPENDENCY_OF", True),
    "dev": ("DEV_DEPENDENCY_OF", True),
}


def output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def spdx_id(name: str, version: str) -> str:
    """Letters, digits, dots and hyphens are allowed, and two crates must not share one."""
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", lambda found: f".{ord(found[0]):x}.", f"{name}-{version}")


def licence(package: dict) -> str:
    """Older crates write a slash where SPDX writes OR."""
    return re.sub(r"\s*/\s*", " OR ", package.get("license") or "NOASSERTION")


def entry(locked: dict, package: dict) -> dict:
    name, version = locked["name"], locked["version"]
    declared = licence(package)
    found = {
        "SPDXID": spdx_id(name, version),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": declared,
        "licenseDeclared": declared,
        "copyrightText": "NOASSERTION",
        "supplier": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION" if name in DESCRIBED else "LIBRARY",
    }
    if "checksum" in locked:
        found["checksums"] = [{"algorithm": "SHA256", "checksumValue": locked["checksum"]}]
        purl = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:cargo/{name}@{version}"}
        found["externalRefs"] = [purl]
    return found


def relation(one: str, kind: str, other: str) -> dict:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def relations(metadata: dict, ids: dict):
    """Who needs whom, of all targets."""
    for node in metadata["resolve"]["nodes"]:
        for needed in node["deps"]:
            for kind in sorted({told["kind"] for told in needed["dep_kinds"]}, key=str):
                name, turned = RELATIONS[kind]
                one, other = ids[node["id"]], ids[needed["pkg"]]
                yield relation(other, name, one) if turned else relation(one, name, other)


def document() -> dict:
    metadata = json.loads(output("cargo", "metadata", "--format-version", "1", "--locked", "--all-features"))
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    packages = {(package["name"], package["version"]): package for package in metadata["packages"]}
    ids = {package["id"]: spdx_id(package["name"], package["version"]) for package in metadata["packages"]}
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    created = int(os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct"))
    described = [relation("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id(name, version)) for name in DESCRIBED]
    needs = sorted(relations(metadata, ids), key=lambda found: tuple(found.values()))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sluice-{version}",
        # A name, not an address; each commit has one of its own.
        "documentNamespace": f"urn:sluice:sbom:{version}:{output('git', 'rev-parse', 'HEAD')}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(created, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": ["Tool: sluice-sbom"],
        },
        # Crates that no target of ours ever needs are in the lock, too, and cargo says nothing of them.
        "packages": [entry(one, packages.get((one["name"], one["version"]), {})) for one in locked],
        "relationships": described + needs,
    }


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=1)
    print()
