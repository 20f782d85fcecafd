#!/usr/bin/env python3
"""Makes docs/kinds: a page for each kind, of what the code says. `scripts/kind_pages.py [--check]`; with --check it only compares.

- What a kind is for stands in docs/kinds/<kind>/purpose.txt, its example beside it; the tests of documents give the commands of a page.
- Paths, types and defaults are those of deploy/crds, meanings the doc comments of crates/api/src/wire.
- How well a field is supported says docs/compatibility.md, and docs/charts.md of the options of a chart.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = ROOT / "docs/kinds"
WIRE = ROOT / "crates/api/src/wire"
# Kind, the struct of its spec, the section of docs/compatibility.md, and the kind with which it shares fields. Those of users first.
USERS = [
    ("EventSource", "EventSourceSpec", "EventSource", None),
    ("EventTrigger", "EventTriggerSpec", "EventTrigger", "ClusterProfile"),
    ("ClusterProfile", "ClusterProfileSpec", "ClusterProfile and Profile", None),
    ("Profile", "ClusterProfileSpec", "ClusterProfile and Profile", "ClusterProfile"),
    ("ClusterSet", "ClusterSetSpec", "Clusters and sets", None),
    ("Set", "ClusterSetSpec", "Clusters and sets", "ClusterSet"),
    ("SveltosCluster", "SveltosClusterSpec", "Clusters and sets", None),
    ("RoleRequest", "RoleRequestSpec", "RoleRequest", None),
]
WRITTEN = [
    ("EventReport", "EventReportSpec", None, None),
    ("ClusterSummary", "ClusterSummarySpec", "ClusterSummary, written by Sluice", "ClusterProfile"),
    ("ClusterConfiguration", "ClusterConfigurationSpec", "ClusterSummary, written by Sluice", None),
    ("ClusterReport", "ClusterReportSpec", "ClusterSummary, written by Sluice", None),
]
STATUS = {"ClusterProfile": "ProfileStatus", "Profile": "ProfileStatus", "Set": "ClusterSetStatus"}
# What a field that others have, too, is called by them.
SHARED = {"ClusterSummary": {"spec.clusterProfileSpec": "spec"}}
# These stand in the table of options, and are fields of the chart itself.
OF_CHARTS = {"repositoryURL", "signatureVerification", "provenanceVerification"}
# Of such a field nobody needs to know what is in it.
WITHOUT = ("no effect", "problem", "not written", "refused", "the trigger or profile is refused")
# Of what Kubernetes has for every kind.
MEANINGS = {"status.conditions": "Conditions as Kubernetes has them."}
STATES = {"status.conditions": "works: `Ready` says whether all is well, and if not, why"}
STRUCT = re.compile(r"^pub struct (\w+)(?:<[^>]*>)? \{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"((?:    ///[^\n]*\n)*)((?:    #\[[^\n]*\n)*)    pub (?:r#)?(\w+): ([^\n]+),\n")


# The manifests of deploy/crds: block style with quoted texts, as crates/api/src/crd/yaml.rs writes it.


def scalar(text: str):
    if text.startswith('"'):
        return re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), text[1:-1])
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return {"true": True, "false": False, "null": None, "{}": {}, "[]": []}.get(text, text)


def block(lines: list, at: int, indent: int):
    """The value that begins in this line, and the line after it."""
    if lines[at][1].startswith("-"):
        items = []
        while at < len(lines) and lines[at][0] == indent and lines[at][1].startswith("-"):
            rest = lines[at][1][1:].strip()
            if re.match(r'(?:"(?:[^"\\]|\\.)*"|[\w$./-]+):(?: |$)', rest) or rest.startswith("-"):
                lines[at] = (indent + 2, rest)
                item, at = block(lines, at, indent + 2)
            else:
                item, at = scalar(rest), at + 1
            items.append(item)
        return items, at
    members = {}
    while at < len(lines) and lines[at][0] == indent and not lines[at][1].startswith("-"):
        key, _, rest = lines[at][1].partition(":")
        key, rest, at = scalar(key), rest.strip(), at + 1
        if rest:
            members[key] = scalar(rest)
        else:
            members[key], at = block(lines, at, lines[at][0])
    return members, at


def yaml(text: str):
    lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return block(lines, 0, 0)[0]


def definition(kind: str) -> dict:
    for path in sorted((ROOT / "deploy/crds").glob("*_*.yaml")):
        text = path.read_text(encoding="utf-8")
        if f"\n    kind: {kind}\n" in text:
            return yaml(text)["spec"]
    sys.exit(f"kind_pages: deploy/crds defines no {kind}")


# The doc comments of crates/api.


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def structs() -> dict:
    """Name, meaning and type of each field of each struct."""
    found = {}
    for path in sorted(WIRE.glob("*.rs")):
        for name, inside in STRUCT.findall(path.read_text(encoding="utf-8")):
            fields = {}
            for comment, attributes, field, kind in FIELD.findall(inside):
                renamed = re.search(r'rename = "(\w+)"', attributes)
                meaning = " ".join(line.strip().removeprefix("///").strip() for line in comment.splitlines())
                inner = re.findall(r"\w+", kind)
                fields[renamed[1] if renamed else camel(field)] = (meaning, inner[-1], "flatten" in attributes)
            found[name] = fields
    return found


def lookup(known: dict, struct: str, name: str):
    """Meaning of a field and the struct that it is of, also where it stands in a part that is written flat."""
    fields = known.get(struct, {})
    if name in fields:
        return fields[name][:2]
    for _, inner, is_flat in fields.values():
        found = lookup(known, inner, name) if is_flat else None
        if found:
            return found
    return None


# What docs/compatibility.md says of fields.


def support(kind: str, section: str) -> dict:
    """The state of each path below `spec.` or `status.` that the tables name."""
    if not section:
        return {}
    page = (ROOT / "docs/compatibility.md").read_text(encoding="utf-8")
    part = re.search(rf"^### {re.escape(section)}$(.*?)(?=^##|\Z)", page, re.M | re.S)
    if not part:
        sys.exit(f"kind_pages: docs/compatibility.md has no section {section}")
    states = {}
    for line in part[1].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) < 3 or set(cells[0]) <= {"-"} or cells[0] == "field":
            continue
        names, state = cells[0], cells[1]
        head, colon, rest = names.partition(": ")
        if colon and "`" not in head:
            if kind not in re.split(r", | and ", head):
                continue
            names, (head, colon, rest) = rest, rest.partition(": ")
        elif "`" not in names:
            continue
        # A value of a field: `syncMode: Continuous`.
        value = re.match(r"`(\w+): (\w+)`$", names)
        if value:
            states[value[1]] = "; ".join(filter(None, [states.get(value[1]), f"`{value[2]}`: {state}"]))
            continue
        if names.endswith(" and status"):
            states["status"] = state
        prefix = ""
        if colon and re.fullmatch(r"`[\w.]+`", head):
            prefix, names = head.strip("`") + ".", rest
        elif names.startswith("annotation") or names.startswith("label"):
            continue
        part_of_status = False
        for name in re.findall(r"`([\w.]+)`", names):
            part_of_status = part_of_status or name.startswith("status.")
            whole = prefix + name
            states[f"status.{whole}" if part_of_status and not whole.startswith("status.") else whole] = state
    return states


def options() -> dict:
    """The same of the options of a chart; what holds for all others is that of `*`."""
    page = (ROOT / "docs/charts.md").read_text(encoding="utf-8")
    rows = re.search(r"^## Options$\n+\| option \| state \|\n\|[-|]+\|\n((?:\|.*\n)+)", page, re.M)
    if not rows:
        sys.exit("kind_pages: docs/charts.md has no table of options")
    states = {}
    for line in rows[1].splitlines():
        names, state = [cell.strip() for cell in line.strip("|").split(" | ")]
        found, words = re.findall(r"`([\w.]+)`", names), re.sub(r"`[\w.]+`,?", "", names).strip()
        if words == "all others":
            states["helmCharts.options.*"] = state.partition(", and ")[0]
        # Of some values only: `repositoryURL` of a Flux source.
        state = f"{words}: {state}" if words else state
        for name in found:
            place = "helmCharts." if name in OF_CHARTS else "helmCharts.options."
            states[place + name] = state
    return states


def state_of(states: dict, path: str, is_leaf: bool) -> str:
    """As a page in docs/kinds has it."""
    path = path.replace("[]", "").removeprefix("spec.")
    if is_leaf and path.startswith("helmCharts.options."):
        states = {path: states.get("helmCharts.options.*", ""), **states}
    state = states.get(path, "") or (states.get("status", "") if re.fullmatch(r"status\.\w+", path) else "")
    state = re.sub(r"^(?:are|have) ", "", re.sub(r"^(work|mean)\b", r"\1s", state)).replace("names them", "names it")
    return re.sub(r"\]\((?![a-z]+:)", "](../", state)


# The pages.

LEGEND = (
    "`[]` stands for each entry of a list. *Here* is how well Sluice does what a field asks for, from [compatibility](../compatibility.md); "
    "where it is empty, what is said of the field around it holds. Of a status without a word nothing is promised."
)


def type_of(schema: dict) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "number or text"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    kind = schema.get("type", "text or object")
    if kind == "array":
        return f"list of {plural(type_of(schema['items']))}"
    if isinstance(schema.get("additionalProperties"), dict):
        return "map"
    names = {"string": "text", "integer": "whole number", "boolean": "yes or no", "object": "object", "number": "number"}
    return names.get(kind, kind) + (f" ({schema['format']})" if schema.get("format") in ("byte", "date-time") else "")


def plural(kind: str) -> str:
    return {"text": "texts", "object": "objects", "text (byte)": "texts (byte)"}.get(kind, kind)


def default(schema: dict, is_required: bool) -> str:
    if "default" in schema:
        value = schema["default"]
        return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value not in ("", {}, []) else ""
    return "required" if is_required else ""


class Rows:
    """The rows of the tables of a kind."""

    def __init__(self, states, known, common, is_written):
        self.states, self.known, self.common, self.is_written = states, known, common, is_written
        # Under the top-level field that they are in; their own table is that of "".
        self.tables, self.silent = {"": []}, []

    def add(self, path: str, schema: dict, struct: str, is_said: bool = False):
        """All fields of an object; `is_said`: what holds for it has been said of one around it."""
        required = schema.get("required", [])
        for name, field in sorted((schema.get("properties") or {}).items()):
            self.field(f"{path}.{name}", field, name in required, lookup(self.known, struct, name), is_said)

    def field(self, path, schema, is_required, found, is_said):
        meaning, inner = found or (schema.get("description", ""), "")
        meaning = meaning or schema.get("description", "") or MEANINGS.get(path, "")
        is_leaf = not any(schema.get(part) for part in ("items", "properties"))
        state = state_of(self.states, path, is_leaf) or ("" if self.is_written else STATES.get(path, ""))
        is_said = is_said or bool(state)
        shared = self.common.get(path)
        is_shared = shared is not None and path not in MEANINGS and (schema.get("properties") or schema.get("items", {}).get("properties"))
        if is_shared:
            meaning += f" Its fields: [{shared[0]}]({shared[0].lower()}.md#fields)."
        kind = "text" if all(f"`{value}`" in meaning for value in schema.get("enum", [])) and "enum" in schema else type_of(schema)
        _, top, *below = path.split(".")
        cells = [f"`{'.'.join(below) or top}`", kind, default(schema, is_required), meaning, state]
        row = "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |"
        self.tables.setdefault(top if below else "", []).append(row)
        if is_leaf and not is_said:
            self.silent.append(path)
        if is_shared or path in MEANINGS or state.startswith(WITHOUT):
            return
        item = schema.get("items")
        self.add(path + "[]", item, inner, is_said) if item is not None else self.add(path, schema, inner, is_said)


def newest(defined: dict) -> dict:
    return defined["versions"][-1]["schema"]["openAPIV3Schema"]["properties"]


def common_paths(kind: str, other: str) -> dict:
    """The fields of the kind that are, with all that is in them, those of the other one."""
    if not other:
        return {}
    mine, theirs = newest(definition(kind)), newest(definition(other))
    common = {}
    for part in ("spec", "status"):
        for name, schema in (mine.get(part, {}).get("properties") or {}).items():
            if theirs.get(part, {}).get("properties", {}).get(name) == schema:
                common[f"{part}.{name}"] = (other,)
    for path in SHARED.get(kind, {}):
        common[path] = (other,)
    return common


def table(rows: list[str]) -> str:
    head = "| field | type | default | meaning | here |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows)


def page(kind: str, struct: str, section: str, other: str, known: dict, is_written: bool) -> str:
    folder = KINDS / kind.lower()
    defined = definition(kind)
    schema, states, common = newest(defined), support(kind, section), common_paths(kind, other)
    if kind == "ClusterProfile":
        states = {**states, **options()}
    if other and section == "EventTrigger":
        states = {**support(other, "ClusterProfile and Profile"), **states}
    versions = " and ".join(f"`{defined['group']}/{version['name']}`" for version in reversed(defined["versions"]))
    scope = "a namespace" if defined["scope"] == "Namespaced" else "no namespace"
    purpose, _, more = (folder / "purpose.txt").read_text(encoding="utf-8").strip().partition("\n\n")
    example = (folder / f"{kind.lower()}.yaml").read_text(encoding="utf-8").strip()
    parts = [f"# {kind}", purpose, f"Versions {versions}, in {scope}."]
    if is_written:
        parts += ["Sluice writes it; nobody else should."]
    parts += ["## Example", f"```yaml\n{example}\n```"]
    parts += [f"    kubectl get {defined['names']['plural']} --all-namespaces" if is_written else f"    sluice check {kind.lower()}.yaml"]
    parts += [more] if more else []
    parts += ["## Fields", LEGEND]
    for part, of in (("spec", struct), ("status", STATUS.get(kind, struct.replace("Spec", "Status")))):
        rows = Rows(states, known, common, is_written)
        rows.add(part, schema.get(part, {}), of, is_written)
        if rows.silent and part == "spec":
            sys.exit(f"kind_pages: docs/compatibility.md says nothing of {kind}: {', '.join(rows.silent)}")
        for top, lines in rows.tables.items():
            heading = f"#### {part}.{top}" if top else f"### {part.capitalize()}"
            parts += [heading, table(lines)] if lines else []
    return "\n\n".join(parts) + "\n"


def index() -> str:
    rows = []
    for who, kinds in (("you", USERS), ("Sluice", WRITTEN)):
        for kind, *_ in kinds:
            purpose = (KINDS / kind.lower() / "purpose.txt").read_text(encoding="utf-8").strip().partition("\n\n")[0]
            rows.append(f"| [{kind}]({kind.lower()}.md) | {who} | {re.split(r'(?<=[.]) ', purpose)[0]} |")
    head = "# Kinds\n\nEach kind with its purpose, an example and all fields. `EventBasedAddOn` is the former name of `EventTrigger`, with the same fields.\n\n"
    return head + "| kind | written by | what it is for |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def pages():
    known = structs()
    yield KINDS / "README.md", index()
    for kinds, is_written in ((USERS, False), (WRITTEN, True)):
        for kind, struct, section, other in kinds:
            yield KINDS / f"{kind.lower()}.md", page(kind, struct, section, other, known, is_written)


def main() -> int:
    made = dict(pages())
    stray = [path for path in KINDS.glob("*.md") if path not in made]
    if sys.argv[1:] == ["--check"]:
        wrong = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text] + stray
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is not what the code says: run scripts/kind_pages.py and commit the result", file=sys.stderr)
        if not wrong:
            print("kinds: docs/kinds is what the code says")
        return 1 if wrong else 0
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    for path in stray:
        path.unlink()
    return 0


sys.exit(main())
