#!/usr/bin/env python3
"""Writes the Grafana dashboards: deploy/monitoring/dashboards/*.json.

    scripts/dashboards.py           write them anew
    scripts/dashboards.py --check   fail when one is not what would be written

Each dashboard is a list of rows, each row a list of panels of equal width, each panel a title, a unit and its queries.
"""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "deploy/monitoring/dashboards"
SOURCE = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT = 24, 8


def quantile(share, metric, by=""):
    """A quantile over what is graphed; `by` are labels that stay."""
    labels = ", ".join(["le", *filter(None, by.split())])
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket[$__rate_interval])))"


def rate(metric, by, selector=""):
    return f"sum by ({by}) (rate({metric}{selector}[$__rate_interval]))"


def graph(title, unit, *queries):
    """A line for each (query, legend)."""
    return ("timeseries", title, unit, queries)


def number(title, unit, query):
    """One value."""
    return ("stat", title, unit, [(query, "")])


STAGE = '{stage="$stage"}'

OVERVIEW = [
    [
        number("Events applied, per second", "ops", 'sum(rate(sluice_happened_total{outcome="applied"}[$__rate_interval]))'),
        number("Event to applied, 99 %", "s", "sluice:event_to_applied_seconds:p99_5m"),
        number("Problems open", "none", "sum(sluice_problems_open)"),
        number("Rows not read yet", "none", "sum(sluice_shard_lag_rows)"),
        number("Alerts", "none", 'count(ALERTS{alertname=~"Sluice.*", alertstate="firing"}) or vector(0)'),
    ],
    [
        graph(
            "Event to applied",
            "s",
            (quantile(0.5, "sluice_event_to_applied_seconds"), "50 %"),
            (quantile(0.99, "sluice_event_to_applied_seconds"), "99 %"),
        ),
        graph("What happens", "ops", (rate("sluice_happened_total", "outcome"), "{{outcome}}")),
    ],
    [
        graph("Row in to row out, 99 %", "s", (quantile(0.99, "sluice_stage_seconds", "stage"), "{{stage}}")),
        graph("The bus stores rows, 99 %", "s", (quantile(0.99, "sluice_publish_seconds", "stage"), "{{stage}}")),
    ],
    [
        graph("Rows published", "ops", (rate("sluice_rows_total", "stage", '{outcome="published"}'), "{{stage}}")),
        graph("Rows not read yet", "none", ("sum by (stage) (sluice_shard_lag_rows)", "{{stage}}")),
        graph("Shards owned", "none", ("sum by (stage) (sluice_shards_owned)", "{{stage}}")),
    ],
    [
        graph("Problems open", "none", ("sum by (stage, class) (sluice_problems_open) > 0 or sum by (stage) (sluice_problems_open)", "{{stage}} {{class}}")),
        graph("Memory of replicas", "bytes", ("sluice_resident_memory_bytes", "{{instance}}")),
        graph("Processors used by replicas", "percentunit", ("rate(process_cpu_seconds_total[$__rate_interval])", "{{instance}}")),
    ],
]

ONE_STAGE = [
    [
        number("Shards owned", "none", f"sum(sluice_shards_owned{STAGE})"),
        number("Replicas", "none", f"count(sluice_shards_owned{STAGE})"),
        number("Rows not read yet", "none", f"sum(sluice_shard_lag_rows{STAGE}) or vector(0)"),
        number("Problems open", "none", f"sum(sluice_problems_open{STAGE})"),
        number("Restarts of shards, an hour", "none", f"sum(increase(sluice_shard_restarts_total{STAGE}[1h])) or vector(0)"),
    ],
    [
        graph(
            "Row in to row out",
            "s",
            (f'histogram_quantile(0.5, sum by (le) (rate(sluice_stage_seconds_bucket{STAGE}[$__rate_interval])))', "50 %"),
            (f'histogram_quantile(0.99, sum by (le) (rate(sluice_stage_seconds_bucket{STAGE}[$__rate_interval])))', "99 %"),
        ),
        graph(
            "Decisions, 99 %",
            "s",
            (f'histogram_quantile(0.99, sum by (le, kind) (rate(sluice_evaluation_seconds_bucket{STAGE}[$__rate_interval])))', "{{kind}}"),
        ),
        graph(
            "The bus stores rows, 99 %",
            "s",
            (f'histogram_quantile(0.99, sum by (le) (rate(sluice_publish_seconds_bucket{STAGE}[$__rate_interval])))', ""),
        ),
    ],
    [
        graph("Rows", "ops", (rate("sluice_rows_total", "outcome", STAGE), "{{outcome}}")),
        graph("Bytes published", "Bps", (f"sum(rate(sluice_published_bytes_total{STAGE}[$__rate_interval]))", "")),
        graph("Rows not read yet, by shard", "none", (f"sum by (shard) (sluice_shard_lag_rows{STAGE})", "{{shard}}")),
    ],
    [
        graph(
            "Take-overs of shards, 99 % of an hour",
            "s",
            (f'histogram_quantile(0.99, sum by (le) (rate(sluice_takeover_seconds_bucket{STAGE}[1h])))', ""),
        ),
        graph("Shards by replica", "none", (f"sluice_shards_owned{STAGE}", "{{instance}}")),
        graph("Consumers on the bus", "none", (f"sluice_bus_consumers{STAGE}", "{{instance}}")),
    ],
]

CLUSTERS = [
    [
        number("Calls, per second", "ops", "sum(rate(sluice_api_calls_total[$__rate_interval]))"),
        number("Calls that fail", "percentunit", "sluice:api_calls_failing:ratio5m"),
        number("Objects that wait for the management cluster", "none", "sum(sluice_projections_waiting)"),
    ],
    [
        graph("Calls to managed clusters", "ops", (rate("sluice_api_calls_total", "outcome"), "{{outcome}}")),
        graph("How long they take, 99 %", "s", (quantile(0.99, "sluice_api_call_seconds", "call"), "{{call}}")),
        graph("How long they take, 50 %", "s", (quantile(0.5, "sluice_api_call_seconds", "call"), "{{call}}")),
    ],
    [
        graph("Calls by kind", "ops", (rate("sluice_api_call_seconds_count", "call"), "{{call}}")),
        graph("Problems about objects", "none", ('sum by (stage) (sluice_problems_open{class="object"})', "{{stage}}")),
    ],
]


def panel(number, place, width, row, kind_title_unit_queries):
    kind, title, unit, queries = kind_title_unit_queries
    targets = [
        {"refId": chr(ord("A") + index), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
        for index, (expr, legend) in enumerate(queries)
    ]
    field = {"defaults": {"unit": unit, "min": 0}, "overrides": []}
    return {
        "id": number,
        "type": kind,
        "title": title,
        "datasource": SOURCE,
        "gridPos": {"x": place * width, "y": row * HEIGHT, "w": width, "h": HEIGHT},
        "fieldConfig": field,
        "targets": targets,
    }


def dashboard(uid, title, rows, variables=()):
    panels = []
    for row, columns in enumerate(rows):
        for place, column in enumerate(columns):
            panels.append(panel(len(panels) + 1, place, WIDTH // len(columns), row, column))
    source = {"name": "source", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
    return {
        "uid": uid,
        "title": title,
        "tags": ["sluice"],
        "schemaVersion": 39,
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "10s",
        "templating": {"list": [source, *variables]},
        "panels": panels,
    }


def stages():
    names = ["agent", "matcher", "renderer", "deployer"]
    options = [{"text": name, "value": name, "selected": name == "matcher"} for name in names]
    return {
        "name": "stage",
        "type": "custom",
        "label": "Stage",
        "query": ",".join(names),
        "options": options,
        "current": {"text": "matcher", "value": "matcher"},
    }


DASHBOARDS = {
    "overview": dashboard("sluice-overview", "Sluice", OVERVIEW),
    "stage": dashboard("sluice-stage", "Sluice: one stage", ONE_STAGE, [stages()]),
    "clusters": dashboard("sluice-clusters", "Sluice: clusters", CLUSTERS),
}


def main():
    check = "--check" in sys.argv[1:]
    stale = []
    for name, content in DASHBOARDS.items():
        path = FOLDER / f"{name}.json"
        text = json.dumps(content, indent=1) + "\n"
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit(f"dashboards: {', '.join(stale)} are not what scripts/dashboards.py writes; run it")


if __name__ == "__main__":
    main()
