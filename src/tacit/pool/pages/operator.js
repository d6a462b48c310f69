"use strict";
// The page asks for statistics every second, and at once when the pool moves on.
const byId = (id) => document.getElementById(id);
const PHASES = {
  open: "The table is open: people send queries under their regions.",
  count: "Counting: agents with a query in the overlap report it, anonymously.",
  identify: "Identifying: groups with enough people hand in sealed records, in batches of at least k.",
  form: "Forming the next table.",
};
const MOST_ROWS = 200;
let latest = null;

function percent(share, digits) {
  return share === null ? "–" : (100 * share).toFixed(digits) + " %";
}

function element(name, attributes, text) {
  const made = name === "td" || name === "tr" || name === "option"
    ? document.createElement(name)
    : document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

let choosing = true; // until somebody chooses, the two attributes that are cut most are shown

function offerAttributes(attributes) {
  for (const id of ["across", "up"]) {
    const select = byId(id);
    if (select.options.length === attributes.length) continue;
    select.replaceChildren(...attributes.map((a, n) => element("option", { value: n }, a.name)));
    select.value = id === "up" ? Math.min(1, attributes.length - 1) : 0;
  }
}

function chooseAttributes() {
  if (!choosing || !latest.groups.length || latest.attributes.length < 2) return;
  const pieces = latest.attributes.map((_, n) =>
    new Set(latest.groups.map((group) => group.low[n] + " " + group.high[n])).size);
  const order = [...pieces.keys()].sort((a, b) => pieces[b] - pieces[a]);
  const larger = latest.attributes[order[0]].size >= latest.attributes[order[1]].size;
  byId("across").value = order[larger ? 0 : 1];
  byId("up").value = order[larger ? 1 : 0];
}

function draw() {
  const map = byId("map"), left = 16, right = 744, top = 30, bottom = 390;
  const x = Number(byId("across").value), y = Number(byId("up").value);
  const across = latest.attributes[x], up = latest.attributes[y];
  const area = (group) => (group.high[x] - group.low[x] + 1) * (group.high[y] - group.low[y] + 1);
  const densest = Math.max(1e-9, ...latest.groups.map((group) => group.people / area(group)));
  const shapes = [];
  const toX = (code) => left + (right - left) * code / across.size;
  const toY = (code) => bottom - (bottom - top) * code / up.size;
  for (const group of latest.groups) {
    const box = element("rect", {
      x: toX(group.low[x]) + 1, y: toY(group.high[y] + 1) + 1,
      width: Math.max(1, toX(group.high[x] + 1) - toX(group.low[x]) - 2),
      height: Math.max(1, toY(group.low[y]) - toY(group.high[y] + 1) - 2),
      rx: 2, "fill-opacity": 0.02 + 0.4 * Math.sqrt(group.people / area(group) / densest), "stroke-opacity": 0.6,
    });
    box.append(element("title", {}, group.people + " people: " + group.words));
    shapes.push(box);
  }
  shapes.push(element("text", { x: left, y: 410 }, across.first));
  shapes.push(element("text", { x: right, y: 410, "text-anchor": "end" }, across.last + "  (" + across.name + " →)"));
  shapes.push(element("text", { x: left, y: 20 }, "↑ " + up.name + ", from " + up.first + " to " + up.last));
  if (!latest.groups.length) {
    shapes.push(element("text", { x: 380, y: 200, "text-anchor": "middle" }, "No group yet: everybody is in the whole domain, d*."));
  }
  map.replaceChildren(...shapes);
}

function listGroups() {
  const sorted = [...latest.groups].sort((a, b) => b.people - a.people);
  byId("rows").replaceChildren(...sorted.slice(0, MOST_ROWS).map((group) => {
    const row = element("tr");
    row.append(element("td", {}, group.people), element("td", {}, percent(group.information_loss, 3)),
      element("td", {}, percent(group.width_share, 1)), element("td", {}, group.words));
    return row;
  }));
  byId("more").textContent = sorted.length > MOST_ROWS ? "and " + (sorted.length - MOST_ROWS) + " more groups" : "";
}

function show(found) {
  const changed = !latest || latest.epoch !== found.epoch;
  latest = found;
  const state = byId("state");
  state.className = found.store_reachable ? "" : "trouble";
  const said = found.store_reachable
    ? "Epoch " + found.epoch + ". " + (PHASES[found.phase] || "Beginning.")
    : "The pool's store cannot be reached; people use d* or wait.";
  if (state.textContent !== said) state.textContent = said;
  byId("people").textContent = found.people.toLocaleString("en");
  byId("groups").textContent = found.groups.length.toLocaleString("en");
  byId("loss").textContent = percent(found.information_loss, 3);
  byId("width").textContent = percent(found.width_share, 1);
  byId("expired").textContent = found.expired + " of " + (found.expired + found.surviving);
  const kept = found.relay === null
    ? "This pool keeps sealed records itself: people must trust you not to open any before there are k."
    : found.relay_reachable
      ? "Sealed records are kept by " + found.relay + ", and come in batches of at least k."
      : "The relay " + found.relay + " gave nothing when it was last asked: without it no group can form.";
  if (byId("kept").textContent !== kept) byId("kept").textContent = kept;
  byId("kept").className = found.relay !== null && !found.relay_reachable ? "trouble" : "";
  byId("expires").textContent = found.expires_in.toFixed(0) + " s";
  byId("listeners").textContent = found.listeners.toLocaleString("en");
  byId("k").textContent = byId("k2").textContent = found.k;
  offerAttributes(found.attributes);
  if (changed) { chooseAttributes(); draw(); listGroups(); }
}

async function ask() {
  try {
    const answer = await fetch("v1/statistics", { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    show(await answer.json());
  } catch (error) {
    byId("state").className = "trouble";
    byId("state").textContent = "The pool does not answer; asking again.";
  }
}

for (const id of ["across", "up"]) byId(id).addEventListener("change", () => { choosing = false; if (latest) draw(); });
ask();
setInterval(ask, 1000);
