// The page of Inspect: it asks this server, and nobody else, and shows what it answers. Texts go in as texts, never as HTML.
"use strict";

const VIEWS = [["", "Fleet"], ["pipeline", "Pipeline"], ["profiles", "Profiles"], ["triggers", "Triggers"], ["problems", "Problems"], ["journal", "Journal"]];
// Rows of a table that are shown at once, and those that are drawn first: more than fit into a window.
const ROWS = 200;
const FIRST = 50;
// Lines of the journal that are kept.
const LINES = 300;
// Times of which shares are told.
const TIMES = 2000;
const STAGES = ["agent", "matcher", "renderer", "deployer"];

const main = document.getElementById("main");
const login = document.getElementById("login");
// What is being shown; whatever was asked for before ends.
let shown = new AbortController();

function make(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...content.flat().filter((part) => part !== null && part !== undefined));
  return made;
}

const link = (path, text) => make("a", { href: "#/" + path.map(encodeURIComponent).join("/") }, text);
const time = (micros) => (micros ? new Date(micros / 1000).toISOString().replace("T", " ").slice(0, 23) : "");
const clusterOf = (text) => text.replace(/^[a-z]+:/, "");
const full = (namespace, name) => (namespace ? namespace + "/" + name : name);

// That an answer needs another token.
class Refused extends Error {
  constructor(said) {
    super(said.error);
    this.login = said.login;
  }
}

async function ask(path, parameters) {
  const query = new URLSearchParams(Object.entries(parameters || {}).filter(([, value]) => value));
  // The one that was shown here; one that a login gave is in a cookie, which no script sees.
  const token = sessionStorage.getItem("token");
  const answer = await fetch("api/" + path + (query.size ? "?" + query : ""), {
    signal: shown.signal,
    headers: token ? { authorization: "Bearer " + token } : {},
    cache: "no-store",
  });
  if (answer.status === 401 || answer.status === 403) throw new Refused(await answer.json());
  if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).error || answer.statusText);
  return answer;
}

const askJson = async (path, parameters) => (await ask(path, parameters)).json();

function table(columns, rows, none) {
  if (!rows.length) return make("p", { class: "dim" }, none);
  const body = make("tbody");
  const more = make("button", { type: "button" });
  let next = 0;
  const add = (count) => {
    for (const row of rows.slice(next, next + count)) {
      body.append(make("tr", {}, columns.map(([title, cell]) => make("td", { "data-of": title }, cell(row)))));
    }
    next = Math.min(next + count, rows.length);
    more.textContent = `Show more (${rows.length - next} left)`;
    more.hidden = next >= rows.length;
  };
  more.addEventListener("click", () => add(ROWS));
  add(FIRST);
  // The rest of them once these are painted.
  if (next < rows.length) requestAnimationFrame(() => setTimeout(() => add(ROWS - FIRST)));
  const head = make("thead", {}, make("tr", {}, columns.map(([title]) => make("th", { scope: "col" }, title))));
  return make("div", { class: "wide" }, make("table", {}, head, body), more);
}

function missing(lists) {
  const all = [...new Set(lists.flatMap((list) => list.missing || []))];
  return all.length ? make("p", { class: "note" }, "Not all is known: " + all.join("; ")) : null;
}

function ready(line) {
  const word = line.ready || "unknown";
  const look = { yes: "good", no: "bad", suspended: "warn" }[word] || "dim";
  return make("span", { class: look }, word);
}

const tile = (path, count, what) => make("li", {}, make(path ? "a" : "div", path ? { href: "#/" + path } : {}, make("b", {}, String(count)), what));

const PROBLEMS = [
  ["Stage", (row) => row.stage],
  ["Cluster", (row) => (row.cluster ? link(["cluster", ...clusterOf(row.cluster).split("/")], clusterOf(row.cluster)) : "all")],
  ["About", (row) => row.object],
  ["What is wrong, and what to do", (row) => make("span", { class: row.severity === "note" ? "dim" : "bad" }, row.error)],
  ["Since", (row) => time(row.since)],
];

const WRITTEN = (kind) => [
  ["Name", (row) => make("span", {}, full(row.namespace, row.name), make("span", { class: "dim" }, " " + row.kind))],
  [kind === "triggers" ? "EventSource" : "Of", (row) => row.of],
  ["Clusters", (row) => String(row.clusters)],
  ["Ready", ready],
  ["What is said of it", (row) => row.message],
];

async function fleet() {
  const said = await askJson("fleet");
  const of = new Map(Object.entries(said.of).map(([cluster, count]) => [clusterOf(cluster), count]));
  const well = said.found.filter((line) => line.ready === "yes").length;
  return [
    make("h1", {}, "Fleet"),
    make("ul", { class: "tiles" },
      tile("", `${well} / ${said.found.length}`, "clusters ready"),
      tile("profiles", said.profiles, "profiles"),
      tile("triggers", said.triggers, "triggers"),
      tile("problems", said.problems, "open problems")),
    missing([said]),
    table([
      ["Cluster", (row) => link(["cluster", row.namespace, row.name], full(row.namespace, row.name))],
      ["Ready", ready],
      ["Kubernetes", (row) => row.of],
      ["Problems", (row) => String(of.get(full(row.namespace, row.name)) || "")],
      ["Labels", (row) => make("span", { class: "mono dim" }, row.labels.join(" "))],
      ["What is said of it", (row) => row.message],
    ], said.found, "No cluster is registered: sluice register cluster"),
  ];
}

async function pipeline() {
  const shards = await askJson("shards");
  const parts = [make("h1", {}, "Pipeline")];
  const rates = make("div", {});
  parts.push(make("h2", {}, "Since this page was opened"), rates);
  for (const stage of STAGES) {
    const owned = new Map();
    for (const row of shards.found.filter((row) => row.stage === stage)) owned.set(row.replica, (owned.get(row.replica) || 0) + 1);
    parts.push(make("h2", {}, stage), table([
      ["Replica", ([replica]) => make("span", { class: "mono" }, replica)],
      [stage === "agent" ? "Clusters" : "Shards", ([, count]) => String(count)],
    ], [...owned].sort(), `Nobody works as ${stage}: start one`));
  }
  const began = Date.now(), took = new Map();
  let changed = false;
  follow((line) => {
    if (!took.has(line.what)) took.set(line.what, { count: 0, times: [] });
    const of = took.get(line.what);
    of.count += 1;
    // The newest of them, where there are many.
    if (line.micros > 0) of.times[of.count % TIMES] = line.micros;
    changed = true;
  });
  const share = (times, part) => {
    const sorted = times.filter(Boolean).sort((a, b) => a - b);
    return sorted.length ? (sorted[Math.floor((sorted.length - 1) * part)] / 1000).toFixed(1) + " ms" : "";
  };
  // Once a second, however much happens.
  const timer = setInterval(() => {
    if (!changed) return;
    changed = false;
    rates.replaceChildren(table([
      ["What", ([what]) => what],
      ["A second", ([, of]) => (of.count / Math.max(1, (Date.now() - began) / 1000)).toFixed(2)],
      ["Half within", ([, of]) => share(of.times, .5)],
      ["99 % within", ([, of]) => share(of.times, .99)],
    ], [...took].sort(), ""));
  }, 1000);
  shown.signal.addEventListener("abort", () => clearInterval(timer));
  rates.append(make("p", { class: "dim" }, "Nothing has happened yet."));
  return [...parts, missing([shards])];
}

async function written(kind) {
  const lists = await askJson(kind);
  return [make("h1", {}, kind === "profiles" ? "Profiles" : "Triggers"), missing([lists]), table(WRITTEN(kind), lists.found, `There are no ${kind}.`)];
}

async function problems() {
  const list = await askJson("problems");
  return [make("h1", {}, "Problems"), missing([list]), table(PROBLEMS, list.found, "Nothing is wrong.")];
}

async function cluster(namespace, name) {
  const [addons, problems] = await Promise.all([askJson("addons", { namespace, cluster: name }), askJson("problems", { cluster: full(namespace, name) })]);
  return [
    make("h1", {}, "Cluster " + full(namespace, name)),
    missing([addons, problems]),
    make("h2", {}, `Problems (${problems.found.length})`),
    table(PROBLEMS, problems.found, "Nothing is wrong."),
    make("h2", {}, `Add-ons (${addons.found.length})`),
    table([
      ["Object", (row) => {
        const kind = row.resourceType.split(":").pop();
        return link(["object", namespace, name, kind, row.namespace, row.name], `${kind} ${full(row.namespace, row.name)}`);
      }],
      ["Version", (row) => (row.version === "N/A" ? "" : row.version)],
      ["Because of", (row) => row.profiles.join(", ")],
      ["Applied", (row) => row.time],
    ], addons.found, "Nothing is deployed."),
  ];
}

async function object(cluster_namespace, cluster_name, kind, namespace, name) {
  const question = { cluster: full(cluster_namespace, cluster_name), kind, namespace, name };
  const [traces, explained] = await Promise.all([askJson("trace", question).catch((error) => ({ error })), askJson("explain", question).catch((error) => ({ error }))]);
  for (const answer of [traces, explained]) if (answer.error instanceof Refused) throw answer.error;
  const looks = { yes: "good", no: "bad", unknown: "warn" };
  const step = (one) => make("li", {},
    make("b", { class: looks[one.verdict] || "dim" }, one.verdict), " ", one.about, ": ", one.says,
    one.remedy ? make("div", { class: "dim" }, one.remedy) : null);
  const hop = (one) => make("li", {}, make("b", {}, one.stage), " ", make("span", { class: "dim" }, time(one.at)), make("div", {}, one.says), one.replica ? make("div", { class: "dim mono" }, one.replica) : null);
  return [
    make("h1", {}, `${kind} ${full(namespace, name)}`),
    make("p", {}, "in ", link(["cluster", cluster_namespace, cluster_name], question.cluster)),
    make("h2", {}, "Why"),
    explained.error ? make("p", { class: "note" }, explained.error.message) : make("ol", { class: "way" }, explained.steps.map(step)),
    make("h2", {}, "How it came to be"),
    traces.error ? make("p", { class: "note" }, traces.error.message)
      : traces.found.map((trace) => [make("h2", {}, trace.profile), make("ol", { class: "way" }, trace.hops.map(hop))]),
  ];
}

async function journal() {
  const list = make("tbody");
  const head = make("thead", {}, make("tr", {}, ["When", "What", "Cluster", "Object", "After"].map((title) => make("th", { scope: "col" }, title))));
  follow((line) => {
    const cells = [["When", time(line.at)], ["What", line.what], ["Cluster", clusterOf(line.cluster)], ["Object", line.object], ["After", line.micros ? (line.micros / 1000).toFixed(1) + " ms" : ""]];
    list.prepend(make("tr", {}, cells.map(([title, text]) => make("td", { "data-of": title }, text))));
    while (list.children.length > LINES) list.lastChild.remove();
  });
  return [make("h1", {}, "Journal"), make("p", { class: "dim" }, "What happens from now on."), make("div", { class: "wide" }, make("table", {}, head, list))];
}

// Lines of the journal, until another view is shown.
async function follow(tell) {
  try {
    const reader = (await ask("journal")).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.filter(Boolean).forEach((line) => tell(JSON.parse(line)));
    }
  } catch (error) {
    if (error.name !== "AbortError") main.append(make("p", { class: "note" }, "The journal has ended: " + error.message));
  }
}

async function search(words) {
  const lists = await Promise.all(["clusters", "profiles", "triggers", "problems"].map((path) => askJson(path)));
  const fits = (row) => JSON.stringify(Object.values(row)).toLowerCase().includes(words.toLowerCase());
  const [clusters, profiles, triggers, wrong] = lists.map((list) => list.found.filter(fits));
  return [
    make("h1", {}, `Search: ${words}`),
    missing(lists),
    make("h2", {}, `Clusters (${clusters.length})`),
    table([["Cluster", (row) => link(["cluster", row.namespace, row.name], full(row.namespace, row.name))], ["Ready", ready], ["What is said of it", (row) => row.message]], clusters, "None."),
    make("h2", {}, `Profiles (${profiles.length})`), table(WRITTEN("profiles"), profiles, "None."),
    make("h2", {}, `Triggers (${triggers.length})`), table(WRITTEN("triggers"), triggers, "None."),
    make("h2", {}, `Problems (${wrong.length})`), table(PROBLEMS, wrong, "None."),
  ];
}

function chosen() {
  const [view, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const views = { "": fleet, pipeline, problems, journal, profiles: () => written("profiles"), triggers: () => written("triggers"), cluster: () => cluster(...rest), object: () => object(...rest), search: () => search(rest.join("/")) };
  return [view, views[view] || fleet];
}

async function show() {
  shown.abort();
  shown = new AbortController();
  const mine = shown, [view, render] = chosen();
  document.getElementById("views").replaceChildren(...VIEWS.map(([path, title]) =>
    make("a", { href: "#/" + path, "aria-current": path === view ? "page" : null }, title)));
  document.title = `${(VIEWS.find(([path]) => path === view) || ["", view])[1]} · Sluice`;
  main.setAttribute("aria-busy", "true");
  try {
    const content = await render();
    if (mine !== shown) return;
    login.hidden = true;
    main.replaceChildren(...content.flat(3).filter(Boolean));
  } catch (error) {
    if (mine !== shown || error.name === "AbortError") return;
    refuse(error);
  } finally {
    if (mine === shown) main.setAttribute("aria-busy", "false");
  }
}

function refuse(error) {
  login.hidden = !(error instanceof Refused);
  document.getElementById("issuer").hidden = !error.login;
  main.replaceChildren(make("p", { class: "note" }, error.message));
  if (error instanceof Refused) document.getElementById(error.login ? "go" : "token").focus();
}

// Whose token it is, where an issuer says so, and until when.
async function session() {
  const { name, until } = await askJson("session").catch(() => ({}));
  if (!name) return;
  document.getElementById("session").hidden = false;
  document.getElementById("who").textContent = name;
  // No timer is longer.
  setTimeout(() => {
    shown.abort();
    refuse(new Refused({ error: "Your login has expired. Log in again.", login: true }));
  }, Math.min(until * 1000 - Date.now(), 2 ** 31 - 1));
}

// A login comes back to the page without the view: it is kept here, and in no address that another server sees.
function comeBack() {
  const back = sessionStorage.getItem("back");
  sessionStorage.removeItem("back");
  if (back && !location.hash) history.replaceState(null, "", "#" + back.replace(/^#/, ""));
}

document.getElementById("go").addEventListener("click", () => {
  sessionStorage.removeItem("token");
  sessionStorage.setItem("back", location.hash);
});
document.getElementById("logout").addEventListener("click", async () => {
  sessionStorage.removeItem("token");
  await fetch("logout", { method: "POST" });
  location.reload();
});
login.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", document.getElementById("token").value.trim());
  show().then(session);
});
document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = document.getElementById("words").value.trim();
  location.hash = words ? "#/search/" + encodeURIComponent(words) : "#/";
});
addEventListener("keydown", (event) => {
  if (event.target.matches("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    document.getElementById("words").focus();
  } else if (VIEWS[Number(event.key) - 1]) {
    location.hash = "#/" + VIEWS[Number(event.key) - 1][0];
  }
});
addEventListener("hashchange", show);
comeBack();
show().then(session);
