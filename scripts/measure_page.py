#!/usr/bin/env python3
"""How soon the page of Inspect shows each view over a large fleet: the tables of docs/performance/2026-11-28.md.

    scripts/measure_page.py                                        # the page alone: answers are made here, of the same size and form

    cargo build --release --locked --bin sluice
    cargo build --release --locked -p sluice-inspect --example fleet
    scripts/measure_page.py target/release/examples/fleet target/release/sluice [CLUSTERS [ROWS [PROBLEMS]]]

The second way fills a bus and starts the service over it. A browser without a window opens each view: the first one by its address, the
others by a click. A view counts as shown when it has its content and the browser has painted twice. CHROMIUM names the browser.
"""

import http.server
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading

from check_page import PAGE, browser

RUNS = 7
CLUSTER = "default/cluster-007"
VIEWS = {
    "fleet": "",
    "pipeline": "pipeline",
    "profiles": "profiles",
    "triggers": "triggers",
    "problems": "problems",
    "journal": "journal",
    "a cluster": f"cluster/{CLUSTER}",
    "an object": f"object/{CLUSTER}/ConfigMap/default/made-0007-3",
    "search: cluster-0": "search/cluster-0",
    "search: 007": "search/007",
}
# Until the view has its content and two frames were painted; then how long that took since `began`, and what was waited for.
SHOWN = """new Promise((done) => {
  const main = document.getElementById("main");
  const painted = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
  const look = () => {
    if (main.getAttribute("aria-busy") !== "false" || !main.querySelector("h1")) return void setTimeout(look, 1);
    const filled = performance.now();
    painted(() => {
      const asked = performance.getEntriesByType("resource").filter((entry) => entry.name.includes("/api/") && !entry.name.endsWith("/session") && entry.startTime >= began - 1 && entry.responseEnd > 0 && entry.responseEnd <= filled + 1);
      const ended = Math.max(began, ...asked.map((entry) => entry.responseEnd));
      done({ shown: performance.now() - began, answered: ended - began, kib: asked.reduce((sum, entry) => sum + entry.encodedBodySize, 0) / 1024,
             cells: main.querySelectorAll("*").length });
    });
  };
  look();
})"""


def made_answers(clusters=300, objects=1000, problems=10):
    """What the service answers for such a fleet, by the end of a path."""
    line = {"namespace": "", "of": "", "clusters": 0, "ready": "yes", "message": "", "labels": []}
    named = [{**line, "kind": "SveltosCluster", "namespace": "default", "name": f"cluster-{number:03}", "of": "v1.36.0", "labels": ["env=fv", f"zone=z{number % 3}"]}
             for number in range(clusters)]
    profiles = [{**line, "kind": "ClusterProfile", "name": f"profile-{number:05}", "of": "Continuous", "clusters": 30} for number in range(clusters * 10)]
    triggers = [{**line, "kind": "EventTrigger", "name": f"trigger-{number:03}", "of": "services", "clusters": clusters} for number in range(300)]
    error = "the script of the EventSource takes longer than 200 ms; look for a loop that does not end"
    wrong = [{"stage": "matcher", "cluster": f"sveltos:default/cluster-{number:03}", "object": f"EventSource source-{problem:03}", "error": error,
              "since": 1795867200000000, "attempts": 3} for number in range(clusters) for problem in range(problems)]
    addons = [{"cluster": CLUSTER, "resourceType": ":ConfigMap", "namespace": "default", "name": f"made-{number:04}", "version": "N/A",
               "time": "2026-11-28T12:00:00Z", "deploymentType": "Remote", "profiles": [f"ClusterProfile/sveltos-{number // 10:04}"]} for number in range(objects)]
    shards = [{"stage": stage, "shard": f"{number:02}", "replica": f"{stage}-{number % 2}", "since": 0} for stage in ("matcher", "renderer", "deployer") for number in range(128)]
    shards += [{"stage": "agent", "shard": row["name"], "replica": f"agent-{number % 2}", "since": 0} for number, row in enumerate(named)]
    steps = [{"about": "profile", "verdict": "yes", "says": "ClusterProfile sveltos-0007 is provisioned"}] * 6
    hops = [{"stage": stage, "at": 1795867200000000, "says": "Service shop/web", "replica": f"{stage}-0"} for stage in ("agent", "matcher", "renderer", "deployer")]
    lists = {"clusters": named, "profiles": profiles, "triggers": triggers, "problems": wrong, "addons": addons, "shards": shards,
             "trace": [{"profile": "ClusterProfile sveltos-0007", "hops": hops}]}
    fleet = {"found": named, "missing": [], "profiles": len(profiles), "triggers": len(triggers), "problems": len(wrong),
             "of": {f"sveltos:default/{row['name']}": problems for row in named}}
    return {"fleet": fleet, **{name: {"found": found, "missing": []} for name, found in lists.items()}, "explain": {"verdict": "yes", "steps": steps}, "session": {}}


class Made(http.server.BaseHTTPRequestHandler):
    """The files of the page, and made answers."""

    protocol_version = "HTTP/1.1"
    # Head and body go together.
    wbufsize = 1 << 20
    answers = {}

    def do_GET(self):
        path, _, query = self.path.removeprefix("/ui/").partition("?")
        name = path.removeprefix("api/")
        kinds = {"": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
        if path in kinds:
            self.answer(kinds[path], (PAGE / (path or "index.html")).read_bytes())
        elif name == "problems" and "cluster=" in query:
            self.answer("application/json", self.answers["problems of a cluster"])
        elif name in self.answers:
            self.answer("application/json", self.answers[name])
        else:
            # Nothing happens: the journal is silent.
            self.answer("application/x-ndjson", b"")

    def answer(self, kind, body):
        self.send_response(200)
        for header, value in (("content-type", kind), ("content-length", str(len(body))), ("cache-control", "no-store")):
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def measure_alone(chromium, place):
    answers = made_answers()
    of_cluster = [row for row in answers["problems"]["found"] if row["cluster"].endswith(CLUSTER)]
    answers["problems of a cluster"] = {"found": of_cluster, "missing": []}
    Made.answers = {name: json.dumps(answer, separators=(",", ":")).encode() for name, answer in answers.items()}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Made)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        measure(chromium, f"http://127.0.0.1:{server.server_port}/ui/", place)
    finally:
        server.shutdown()


class Browser:
    """A browser that takes orders through a pair of pipes."""

    def __init__(self, chromium, place):
        (hers, self.orders), (self.answers, his) = os.pipe(), os.pipe()
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={place}/browser",
                   "--window-size=1280,900", "about:blank"]

        def hand_over():
            # The browser reads from 3 and writes to 4; neither may be lost while the other one is put in its place.
            given = [os.dup2(hers, 63), os.dup2(his, 64)]
            os.dup2(given[0], 3)
            os.dup2(given[1], 4)

        self.process = subprocess.Popen(command, preexec_fn=hand_over, pass_fds=(3, 4), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(hers)
        os.close(his)
        self.number, self.rest, self.session = 0, b"", None
        target = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.ask("Page.enable")

    def ask(self, method, **parameters):
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.orders, json.dumps(order).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.answers, 1 << 20) or sys.exit("measure_page: the browser has ended")
            text, _, self.rest = self.rest.partition(b"\0")
            said = json.loads(text)
            if said.get("id") == self.number:
                return said["result"] if "result" in said else sys.exit(f"measure_page: {method}: {said}")

    def run(self, script):
        said = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in said:
            sys.exit(f"measure_page: {said['exceptionDetails']}")
        return said["result"].get("value")

    def opened(self, url):
        """The first view: from the request for the page."""
        self.ask("Page.navigate", url="about:blank")
        self.ask("Page.navigate", url=url)
        while self.run("document.readyState === 'loading' || !document.getElementById('main')"):
            pass
        return self.run(f"{{ const began = 0; {SHOWN} }}")

    def clicked(self, path):
        """Another view, from the click."""
        if self.run("location.hash") == f"#/{path}":
            # It is shown already.
            return None
        return self.run(f"""{{
          const link = document.body.appendChild(document.createElement("a"));
          link.href = "#/" + {json.dumps(path)};
          const began = performance.now();
          link.click();
          link.remove();
          document.getElementById("main").setAttribute("aria-busy", "true");
          performance.clearResourceTimings();
          {SHOWN}
        }}""")


def line(name, runs):
    middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    worst = max(run["shown"] for run in runs)
    print(f"| {name} | {middle['shown']:.0f} | {worst:.0f} | {middle['answered']:.0f} | {middle['kib']:.0f} | {middle['cells']:.0f} |", flush=True)


def measure(chromium, page, place):
    one = Browser(chromium, place)
    try:
        print("| view | shown after, ms | the slowest | the last answer | KiB | elements |\n|---|---|---|---|---|---|")
        line("the first: fleet", [one.opened(page) for _ in range(RUNS)])
        for name, path in VIEWS.items():
            runs = []
            for _ in range(RUNS):
                # From somewhere else, so that there is something to show.
                one.clicked("triggers" if path != "triggers" else "pipeline")
                runs.append(one.clicked(path))
            line(name, runs)
    finally:
        one.process.terminate()
        one.process.wait(30)


def main():
    if len(sys.argv) == 1:
        with tempfile.TemporaryDirectory() as place:
            return measure_alone(browser(), place)
    if len(sys.argv) == 2:
        sys.exit(__doc__)
    chromium, (fleet, sluice) = browser(), [pathlib.Path(path).resolve() for path in sys.argv[1:3]]
    sizes = [*sys.argv[3:], *["300", "1000", "10"][len(sys.argv) - 3 :]]
    with tempfile.TemporaryDirectory() as place:
        kubeconfig = f"{place}/kubeconfig"
        bus = subprocess.Popen([fleet, kubeconfig, *sizes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        service = None
        try:
            url = bus.stdout.readline().strip() or sys.exit("measure_page: the bus does not come up; is nats-server in PATH?")
            command = [sluice, "inspect", "--nats-url", url, "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0", "--ui"]
            service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            for said in service.stdout:
                found = re.match(r"page +(\S+)", said)
                if found:
                    measure(chromium, found[1], place)
                    break
        finally:
            if service:
                service.terminate()
                service.wait(30)
            bus.stdin.close()
            bus.wait(30)
    return None


if __name__ == "__main__":
    main()
