#!/usr/bin/env python3
"""Checks deploy/monitoring: rules, their tests, headings of runbooks, and every query against a pipeline under load.

    scripts/check_monitoring.py SLUICE      the program `sluice`; `prometheus` and `promtool` are on PATH

A query of a rule or dashboard that returns nothing while the pipeline works asks for what does not exist. Of an alert, what it
compares with a bound must exist; whether it fires, the tests of the rules say.
"""

import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
MONITORING = ROOT / "deploy/monitoring"
RULES = MONITORING / "sluice.rules.yml"
RUNBOOKS = ROOT / "docs/operations/monitoring.md"
PATIENCE = 60
# These count what goes wrong, and nothing does here.
MAY_BE_ABSENT = ["sluice_task_ends_total", "sluice_limits_hit_total", "sluice_shard_restarts_total", "ALERTS", 'outcome=~"malformed|too_large"']


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")


def ask(url, token=None, method="GET", body=None):
    request = urllib.request.Request(url, method=method, data=body and json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(what, question):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = question()
        if found:
            return found
        time.sleep(0.5)
    sys.exit(f"check_monitoring: {what} did not come within {PATIENCE} s")


def static_checks():
    run("scripts/dashboards.py", "--check")
    run("promtool", "check", "rules", str(RULES))
    run("promtool", "test", "rules", str(MONITORING / "sluice.test.yml"))
    run("promtool", "check", "config", str(MONITORING / "prometheus.yml"))
    headings = re.findall(r"^### (\w+)$", RUNBOOKS.read_text(), re.M)
    alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
    if sorted(headings) != sorted(alerts):
        sys.exit(f"check_monitoring: {RUNBOOKS.name} has headings {headings}, and there are alerts {alerts}")
    for alert, runbook in re.findall(r"- alert: (\w+).*?runbook: (\S+)", RULES.read_text(), re.S):
        if runbook != f"docs/operations/monitoring.md#{alert.lower()}":
            sys.exit(f"check_monitoring: the runbook of {alert} is {runbook}")


def of_alert(query):
    """What an alert compares, without the bound."""
    bare = re.sub(r"\s*[<>]=?\s*[\d.]+\s*$", "", query.strip())
    if bare == query.strip():
        bare = re.sub(r"\s*<\s*on \(\) group_left \(\) .*$", "", bare, flags=re.S)
    return bare


def queries(address):
    """Every query of rules, as Prometheus has read them, and of dashboards, with where it stands."""
    groups = json.loads(ask(f"{address}/api/v1/rules"))["data"]["groups"]
    for rule in (rule for group in groups for rule in group["rules"]):
        if rule["health"] == "err":
            sys.exit(f"check_monitoring: {rule['name']} fails: {rule.get('lastError')}")
        if rule["type"] == "recording":
            yield rule["name"], rule["query"]
        elif "absent(" not in rule["query"]:
            yield rule["name"], of_alert(rule["query"])
    for path in sorted((MONITORING / "dashboards").glob("*.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                for stage in ["matcher", "renderer", "deployer"]:
                    query = target["expr"].replace("$__rate_interval", "30s").replace("$stage", stage)
                    yield f"{path.name}: {panel['title']}", query
                    if "$stage" not in target["expr"]:
                        break


def has_data(address, query):
    try:
        found = json.loads(ask(f"{address}/api/v1/query?query={urllib.parse.quote(query)}"))
    except urllib.error.HTTPError as error:
        sys.exit(f"check_monitoring: {query}: {error.read().decode()}")
    values = [float(one["value"][1]) for one in found["data"]["result"]]
    # What was not observed lately has no quantile; shards are taken over before the first scrape.
    return bool(values) and ("takeover" in query or any(value == value for value in values))


def load(kubeconfig, stop):
    """Services come and go on one cluster."""
    text = kubeconfig.read_text()
    server = re.search(r'server: "(\S+/clusters/cluster-1)"', text).group(1)
    url = f"{server}/api/v1/namespaces/default/services"
    service = {"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"app": "load"}, "ports": [{"port": 80}]}}
    number = 0
    while not stop.wait(0.1):
        name = f"load-{number % 20}"
        labels = {"sveltos": "fv"}
        service["metadata"] = {"name": name, "namespace": "default", "labels": labels}
        try:
            ask(url, "token-of-cluster-1", "POST", service)
        except urllib.error.HTTPError:
            ask(f"{url}/{name}", "token-of-cluster-1", "DELETE")
        number += 1


def live_checks(sluice, folder):
    log = open(folder / "up.err", "w")
    up = subprocess.Popen([sluice, "up", "--dir", str(folder / "up")], stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT)
    prometheus, stop = None, threading.Event()
    try:
        ready = next((line for line in up.stdout if line.startswith("ready ")), "")
        threading.Thread(target=lambda: [None for _ in up.stdout], daemon=True).start()
        admin = re.search(r"admin=(\S+)", ready).group(1)
        threading.Thread(target=load, args=(folder / "up/kubeconfig", stop), daemon=True).start()
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": "sluice", "static_configs": [{"targets": [admin.removeprefix("http://")]}]}],
        }
        (folder / "prometheus.yml").write_text(json.dumps(config))
        address = f"http://127.0.0.1:{free_port()}"
        options = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={address[7:]}"]
        prometheus = subprocess.Popen(["prometheus", *options], stderr=open(folder / "prometheus.err", "w"))

        def answers():
            try:
                return has_data(address, "up == 1")
            except OSError:
                return False

        wait_for("the first scrape", answers)
        run("promtool", "check", "metrics", input=ask(f"{admin}/metrics"))
        wait_for("the first evaluation of rules", lambda: "unknown" not in ask(f"{address}/api/v1/rules"))
        asked = list(queries(address))
        left = [(where, query) for where, query in asked if not any(absent in query for absent in MAY_BE_ABSENT)]

        def unanswered():
            left[:] = [(where, query) for where, query in left if not has_data(address, query)]
            return not left

        end = time.monotonic() + PATIENCE
        while not unanswered() and time.monotonic() < end:
            time.sleep(1)
        if left:
            lines = "\n".join(f"  {where}: {query}" for where, query in left)
            sys.exit(f"check_monitoring: these return nothing while the pipeline works:\n{lines}")
        for where, query in asked:
            has_data(address, query)
        print(f"check_monitoring: {len(asked)} queries are fine")
    finally:
        stop.set()
        for process in filter(None, [prometheus, up]):
            process.terminate()
            process.wait(timeout=30)


def main():
    static_checks()
    with tempfile.TemporaryDirectory(prefix="sluice-monitoring-") as folder:
        live_checks(sys.argv[1], pathlib.Path(folder))


if __name__ == "__main__":
    main()
