// The explorer: everything is computed here, from script files beside this one; nothing is sent anywhere.
"use strict";
(() => {
  const home = document.getElementById("explore");
  const releases = JSON.parse(home.dataset.releases);
  const missing = home.dataset.missing.split(";").filter(Boolean).map((each) => each.split(" ")).map(([series, at]) => ({ series, at: Date.parse(at) }));
  const one = (id) => document.getElementById(id);
  const make = (name, properties = {}, ...inside) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  };
  const drawn = (name, attributes, ...inside) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const spoken = (number) => number.toLocaleString("en");
  const PAGE = 100, SUGGESTED = 8, TWICE = 1.96;

  // ---- data: one script for each release, loaded when it is first needed --------------------------------
  const loaded = new Map(), waiting = new Map();
  window.tacitLoaded = (name, tables) => {
    loaded.set(name, tables);
    waiting.get(name)?.done();
  };
  const load = (name) => {
    if (loaded.has(name)) return Promise.resolve(loaded.get(name));
    if (!waiting.has(name)) {
      const entry = {};
      entry.promise = new Promise((done, failed) => {
        entry.done = () => done(loaded.get(name));
        document.head.append(make("script", { src: `assets/${encodeURIComponent(name)}.js`, onerror: () => { waiting.delete(name); failed(new Error(name)); } }));
      });
      waiting.set(name, entry);
    }
    return waiting.get(name).promise;
  };

  // A table with what searching needs: texts in lower case, rows by count, the rank of each.
  const ready = (table) => {
    if (table.texts) return table;
    const columns = Object.values(table.keys), size = columns.length ? columns[0].length : 0;
    table.size = size;
    table.labels = columns.length === 1 ? columns[0] : columns[0].map((_, row) => columns.map((each) => each[row]).join(" · "));
    table.texts = table.labels.map((text) => text.toLowerCase());
    table.orders = {};
    const counts = table.numbers.count;
    table.byCount = Uint32Array.from({ length: size }, (_, row) => row);
    if (counts) table.byCount.sort((a, b) => (counts[b] ?? -1) - (counts[a] ?? -1) || a - b);
    table.ranks = new Uint32Array(size);
    table.byCount.forEach((row, place) => { table.ranks[row] = place + 1; });
    return table;
  };
  const placeOf = (table, label) => {
    table.places ??= new Map(table.labels.map((text, row) => [text, row]));
    return table.places.get(label);
  };
  const errorOf = (table, row) => {
    const deviation = table.numbers.deviation?.[row];
    return deviation == null ? table.error ?? 0 : Math.ceil(TWICE * deviation);
  };

  // ---- the state, which the address keeps --------------------------------------------------------------
  const usual = (releases.findLast((each) => each.rows) ?? releases.at(-1)).name;
  const state = { release: usual, table: "", search: "", sort: "count", up: false, key: "", shown: PAGE };
  const keep = () => {
    const kept = new URLSearchParams();
    for (const name of ["release", "table", "search", "key"]) if (state[name]) kept.set(name, state[name]);
    if (state.sort !== "count" || state.up) kept.set("sort", (state.up ? "up:" : "") + state.sort);
    history.replaceState(null, "", `#${kept}`);
  };
  const restore = () => {
    const kept = new URLSearchParams(location.hash.slice(1));
    for (const name of ["release", "table", "search", "key"]) state[name] = kept.get(name) ?? (name === "release" ? state.release : "");
    const sort = kept.get("sort") ?? "count";
    state.up = sort.startsWith("up:");
    state.sort = sort.replace(/^up:/, "");
    if (!releases.some((each) => each.name === state.release)) state.release = usual;
  };

  let table = null;
  const order = () => {
    const name = state.sort;
    if (name === "count" && !state.up) return table.byCount;
    const key = `${state.up}${name}`;
    if (table.orders[key]) return table.orders[key];
    const values = table.keys[name] ?? table.numbers[name] ?? table.ranks, sign = state.up ? 1 : -1;
    const compare = table.keys[name] ? (a, b) => (values[a] < values[b] ? -sign : values[a] > values[b] ? sign : a - b)
      : (a, b) => sign * ((values[a] ?? -1) - (values[b] ?? -1)) || a - b;
    return (table.orders[key] = Uint32Array.from(table.byCount).sort(compare));
  };
  const found = () => {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean), texts = table.texts, rows = order();
    if (!words.length) return rows;
    const hits = [];
    for (const row of rows) {
      const text = texts[row];
      if (words.every((word) => text.includes(word))) hits.push(row);
    }
    return hits;
  };
  const suggested = () => {
    const typed = state.search.trimStart().toLowerCase(), hits = [];
    if (!typed) return hits;
    for (const row of table.byCount) {
      if (table.texts[row].startsWith(typed) && table.texts[row] !== typed) hits.push(row);
      if (hits.length === SUGGESTED) break;
    }
    return hits;
  };

  // ---- the rows ----------------------------------------------------------------------------------------
  const heads = () => {
    const columns = ["rank", ...Object.keys(table.keys), ...(table.numbers.count ? ["count", "error"] : [])];
    const row = make("tr");
    for (const name of columns) {
      const number = name in table.numbers || name === "rank" || name === "error";
      const chosen = state.sort === name || (name === "rank" && state.sort === "rank");
      const inside = name === "error" ? "±" : make("button", { type: "button", textContent: name.replace("_", " ") + (chosen ? (state.up ? " ▲" : " ▼") : "") });
      if (name !== "error") inside.addEventListener("click", () => {
        state.up = state.sort === name ? !state.up : name === "rank" || name in table.keys;
        state.sort = name;
        state.shown = PAGE;
        show();
      });
      const head = make("th", { scope: "col", className: number ? "number" : "" }, inside);
      if (name === "error") head.title = "19 times in 20 the true count is nearer than this";
      if (chosen) head.setAttribute("aria-sort", state.up ? "ascending" : "descending");
      row.append(head);
    }
    one("rows").tHead.replaceChildren(row);
  };
  const line = (row) => {
    const made = make("tr", { className: table.labels[row] === state.key ? "chosen" : "" }, make("td", { className: "number rank", textContent: spoken(table.ranks[row]) }));
    Object.values(table.keys).forEach((column, place) => {
      const cell = make("td");
      if (place) cell.textContent = column[row];
      else {
        const button = make("button", { type: "button", textContent: column[row] });
        button.addEventListener("click", () => choose(table.labels[row]));
        cell.append(button);
      }
      made.append(cell);
    });
    if (table.numbers.count) {
      const count = table.numbers.count[row], below = table.numbers.fewer_than?.[row], error = errorOf(table, row);
      made.append(make("td", { className: "number", textContent: count == null ? `under ${spoken(below ?? 0)}` : spoken(count) }));
      made.append(make("td", { className: "number", textContent: count == null ? "" : error ? spoken(error) : "exact" }));
    }
    return made;
  };
  const show = () => {
    const hits = found();
    heads();
    one("rows").tBodies[0].replaceChildren(...Array.from(hits.slice(0, state.shown), line));
    one("more").hidden = hits.length <= state.shown;
    const rows = table.size === 1 ? "row" : "rows";
    one("state").textContent = hits.length === table.size ? `${spoken(table.size)} ${rows}` : `${spoken(hits.length)} of ${spoken(table.size)} ${rows}`;
    if (!hits.length) one("state").textContent += ". Some people may have searched for it all the same: rare things are never published.";
    one("suggestions").replaceChildren(...suggested().map((row) => {
      const chip = make("button", { type: "button", textContent: table.labels[row] });
      chip.addEventListener("click", () => { one("search").value = state.search = table.labels[row]; choose(table.labels[row]); });
      return chip;
    }));
    keep();
  };

  // ---- one key: what else people search for, and its course over the releases ---------------------------
  // Pairs of a query and the next tell it; else queries that lead to the same sites; else those that share words.
  const substitutes = (tables, query) => {
    const scores = new Map();
    const add = (text, score) => { if (text !== query && score > 0) scores.set(text, (scores.get(text) ?? 0) + score); };
    for (const each of Object.values(tables)) {
      const counts = each.numbers.count, columns = each.keys;
      const next = columns.next_query ?? columns.to ?? columns.next;
      if (columns.query && next) columns.query.forEach((text, row) => {
        if (text === query) add(next[row], counts?.[row] ?? 1);
        if (next[row] === query) add(text, (counts?.[row] ?? 1) / 2);
      });
      if (columns.queries) columns.queries.forEach((text, row) => {
        const asked = text.split(" → ");
        if (asked.includes(query)) asked.forEach((other) => add(other, counts?.[row] ?? 1));
      });
    }
    if (scores.size) return { how: "are often asked before or after it", found: best(scores) };
    for (const each of Object.values(tables)) {
      const { query: asked, url } = each.keys, counts = each.numbers.count;
      if (!asked || !url) continue;
      const mine = new Map(), all = new Map();
      asked.forEach((text, row) => {
        all.set(url[row], (all.get(url[row]) ?? 0) + (counts?.[row] ?? 1));
        if (text === query) mine.set(url[row], counts?.[row] ?? 1);
      });
      asked.forEach((text, row) => { if (mine.has(url[row])) add(text, mine.get(url[row]) * (counts?.[row] ?? 1) / all.get(url[row])); });
    }
    if (scores.size) return { how: "lead to the same sites", found: best(scores) };
    const asked = tables.queries?.keys.query ?? [];
    const words = new Set(query.split(/\s+/)), often = new Map();
    for (const text of asked) for (const word of new Set(text.split(/\s+/))) if (words.has(word)) often.set(word, (often.get(word) ?? 0) + 1);
    asked.forEach((text) => {
      let score = 0;
      const own = new Set(text.split(/\s+/));
      for (const word of own) if (words.has(word)) score += Math.log(1 + asked.length / often.get(word));
      add(text, score / Math.sqrt(own.size));
    });
    return { how: "share its words", found: best(scores) };
  };
  const best = (scores) => [...scores].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, SUGGESTED).map(([text]) => text);

  // Counts compare only where they mean the same: of one mechanism, with the same bounds. Their noise may differ.
  const meaning = (release) => `${release.series}: ${release.tables[state.table]?.split(", plus noise")[0]}`;
  const course = async (label) => {
    const points = [], chosen = releases.find((each) => each.name === state.release);
    const alike = releases.filter((each) => state.table in each.tables && meaning(each) === meaning(chosen));
    alike.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
    for (const each of alike) {
      const at = Date.parse(each.at), before = points.at(-1)?.at;
      const there = ready((await load(each.name))[state.table]), row = placeOf(there, label);
      const count = row == null ? null : there.numbers.count?.[row];
      const gap = missing.some((gone) => gone.series === each.series && before <= gone.at && gone.at < at);
      points.push({ name: each.name, period: each.period, at, gap, count, error: count == null ? 0 : errorOf(there, row), listed: row != null,
        under: row != null && count == null ? there.numbers.fewer_than?.[row] : there.least });
    }
    return points;
  };
  const chart = (points, label) => {
    const W = 480, H = 220, left = 52, right = 12, top = 12, bottom = 34;
    const most = Math.max(1, ...points.map((each) => (each.count ?? 0) + each.error));
    const begin = points[0].at, span = points.at(-1).at - begin;
    const x = (place) => left + (points.length === 1 ? 0.5 : span ? (points[place].at - begin) / span : place / (points.length - 1)) * (W - left - right);
    const y = (value) => H - bottom - (Math.max(0, value) / most) * (H - top - bottom);
    const made = drawn("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Counts of ${label} in ${points.length} releases; the table below has the numbers.` });
    for (const share of [0, 0.5, 1]) {
      const value = Math.round(most * share), word = drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" });
      word.textContent = spoken(value);
      made.append(drawn("line", { class: "axis", x1: left, x2: W - right, y1: y(value), y2: y(value) }), word);
    }
    let path = "";
    points.forEach((each, place) => {
      if (each.gap) {
        path += " ";
        made.append(drawn("line", { class: "gap", x1: (x(place - 1) + x(place)) / 2, x2: (x(place - 1) + x(place)) / 2, y1: top, y2: H - bottom }));
      }
      if (each.count == null) {
        made.append(drawn("circle", { class: "under", cx: x(place), cy: y(0) - 5, r: 4 }));
        path += " ";
      } else {
        made.append(drawn("line", { class: "error", x1: x(place), x2: x(place), y1: y(each.count - each.error), y2: y(each.count + each.error) }));
        made.append(drawn("circle", { class: "dot", cx: x(place), cy: y(each.count), r: 3.5 }));
        path += `${!path || path.endsWith(" ") ? "M" : "L"}${x(place)},${y(each.count)}`;
      }
    });
    if (path.trim()) made.append(drawn("path", { class: "line", d: path }));
    [[0, "start"], [points.length - 1, "end"]].slice(0, points.length).forEach(([place, anchor]) => {
      const word = drawn("text", { x: x(place), y: H - 10, "text-anchor": points.length === 1 ? "middle" : anchor });
      word.textContent = points[place].name;
      made.append(word);
    });
    return made;
  };
  let asked = 0;
  const choose = async (label) => {
    const mine = ++asked, panel = one("detail");
    state.key = label;
    show();
    panel.hidden = false;
    panel.replaceChildren(make("h2", { textContent: label }), make("p", { className: "soft", textContent: "Loading the other releases …" }));
    const tables = await load(state.release);
    const points = await course(label).catch(() => null);
    if (mine !== asked) return;
    const parts = [make("h2", { textContent: label })];
    if (points === null) parts.push(make("p", { className: "red", textContent: "A data file of this site is missing." }));
    else if (table.numbers.count) {
      parts.push(make("h3", { textContent: "Over the releases" }), chart(points, label));
      parts.push(make("p", { className: "soft", textContent: `Bars: 19 times in 20 the true count lies within them. Rings: no count was published. ${points.some((each) => each.gap) ? "Dashed: a release is missing. " : ""}Where the bars of two releases overlap, their difference may be noise alone.` }));
      const body = make("tbody");
      for (const each of points) {
        const said = each.count != null ? `${spoken(each.count)} ± ${spoken(each.error)}` : each.under ? `under ${spoken(each.under)}, or left out by noise` : each.listed ? "withheld" : "not published";
        body.append(make("tr", {}, make("th", { scope: "row", textContent: each.name }), make("td", { textContent: each.period }), make("td", { className: "number", textContent: said })));
      }
      parts.push(make("details", {}, make("summary", { textContent: "Numbers" }), make("div", { className: "scroll" }, make("table", {}, body))));
    }
    const query = table.keys.query?.[placeOf(table, label)] ?? (state.table === "queries" ? label : null);
    if (query !== null) {
      const { how, found: others } = substitutes(tables, query);
      parts.push(make("h3", { textContent: "Related queries" }));
      if (others.length) {
        const list = make("ol");
        for (const text of others) {
          const button = make("button", { type: "button", textContent: text });
          button.addEventListener("click", () => {
            if (state.table !== "queries" && tables.queries) { state.table = "queries"; state.sort = "count"; pick(); }
            choose(text);
          });
          list.append(make("li", {}, button));
        }
        parts.push(make("p", { className: "soft", textContent: `Queries of this release that ${how}:` }), list);
      } else parts.push(make("p", { className: "soft", textContent: "This release has no related query." }));
    }
    panel.replaceChildren(...parts);
    panel.focus({ preventScroll: true });
  };

  // ---- controls ----------------------------------------------------------------------------------------
  const pick = () => {
    const tables = loaded.get(state.release), names = Object.keys(tables);
    if (!names.includes(state.table)) state.table = names[0];
    one("table").replaceChildren(...names.map((name) => make("option", { value: name, textContent: name, selected: name === state.table })));
    one("table-label").hidden = names.length < 2;
    table = ready(tables[state.table]);
    const means = releases.find((each) => each.name === state.release).tables[state.table];
    one("means").textContent = means ? `Count: ${means}` : "";
    if (!(state.sort in table.keys || state.sort in table.numbers || state.sort === "rank")) state.sort = "count";
  };
  const open = async () => {
    one("state").textContent = "Loading …";
    try { await load(state.release); } catch {
      one("state").textContent = "The data of this release cannot be loaded: a file of the site is missing.";
      return;
    }
    state.shown = PAGE;
    pick();
    show();
    performance.mark("rows");
    if (state.key && placeOf(table, state.key) != null) choose(state.key);
    else { state.key = ""; one("detail").hidden = true; }
    document.documentElement.dataset.ready = state.release;
  };
  home.hidden = false;
  restore();
  one("release").replaceChildren(...releases.map((each) => make("option", { value: each.name, textContent: `${each.name} (${each.period})` })).reverse());
  one("release").value = state.release;
  one("search").value = state.search;
  one("release").addEventListener("change", (event) => { state.release = event.target.value; open(); });
  one("table").addEventListener("change", (event) => { state.table = event.target.value; state.sort = "count"; state.up = false; state.key = ""; open(); });
  one("search").addEventListener("input", (event) => { state.search = event.target.value; state.shown = PAGE; show(); });
  one("more").addEventListener("click", () => { state.shown += 2 * PAGE; show(); });
  window.addEventListener("hashchange", () => { restore(); one("release").value = state.release; one("search").value = state.search; open(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); one("search").focus(); }
  });
  open();
})();
