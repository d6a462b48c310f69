// Everything here adds to pages that work without it: keys, suggestions, filters.
"use strict";
(() => {
  document.documentElement.classList.add("js");
  const token = document.body.dataset.form || "", place = document.body.dataset.place || "";

  // The bare address knows nothing; the way to the private place is kept in this port's own storage.
  try {
    if (place) localStorage.setItem("tacit-place", place);
    const known = localStorage.getItem("tacit-place") || "";
    if (document.body.classList.contains("elsewhere") && /^\/at-[\w-]+$/.test(known)) {
      location.replace(known + location.pathname + location.search + location.hash);
      return;
    }
  } catch { /* storage is turned off: the full address works */ }

  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, properties = {}, ...inside) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  };

  // Results: links lead to the page itself; the click is recorded here on the way.
  for (const link of all("a[data-direct]")) {
    link.href = link.dataset.direct;
    const record = () => {
      if (link.dataset.beacon && !link.dataset.told) {
        link.dataset.told = "yes";
        fetch(link.dataset.beacon, { method: "POST", keepalive: true, headers: { "X-Tacit-Form": token } }).catch(() => {});
      }
    };
    link.addEventListener("click", record);
    link.addEventListener("auxclick", (event) => { if (event.button === 1) record(); });
  }

  // Keys: / to the box, j and k through the results, Enter opens, o opens in a new tab, ? explains.
  const results = all(".result");
  let chosen = -1;
  const choose = (place) => {
    if (!results.length) return;
    results[chosen]?.classList.remove("chosen");
    chosen = Math.max(0, Math.min(results.length - 1, place));
    results[chosen].classList.add("chosen");
    one("h2 a", results[chosen]).focus({ preventScroll: true });
    results[chosen].scrollIntoView({ block: "nearest" });
  };
  const explain = () => {
    let dialog = one("dialog");
    if (!dialog) {
      const keys = [["/", "to the search box"], ["j, k", "next and previous result"], ["Enter", "open the result"],
        ["w", "why is it here"], ["s", "what was sent"], ["?", "this list"], ["Esc", "leave the box or this list"]];
      const list = make("dl");
      for (const [key, meaning] of keys) list.append(make("dt", {}, make("kbd", { textContent: key })), make("dd", { textContent: meaning }));
      const close = make("button", { textContent: "Close", type: "button" });
      dialog = make("dialog", {}, make("h2", { textContent: "Keys" }), list, close);
      dialog.setAttribute("aria-label", "Keys");
      close.addEventListener("click", () => dialog.close());
      document.body.append(dialog);
    }
    dialog.showModal();
  };
  const flip = (details) => { if (details) { details.open = !details.open; one("summary", details).focus(); } };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input:not([type=range]):not([type=checkbox]), textarea, select, dialog");
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing) {
      if (event.key === "Escape" && typing.id === "q") { event.preventDefault(); typing.blur(); } // or Chromium empties the box
      return;
    }
    const actions = {
      "/": () => { const box = one("#q"); box?.focus(); box?.select(); },
      j: () => choose(chosen + 1), k: () => choose(chosen - 1),
      w: () => flip(one(".why", results[chosen] || document)), s: () => flip(one("#sent")), "?": explain,
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });

  // Suggestions, answered by this server alone.
  for (const box of all("#q")) {
    const form = box.form;
    const list = make("ul", { className: "suggestions", id: "suggestions", hidden: true });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Suggestions");
    form.append(list);
    for (const [name, value] of [["role", "combobox"], ["aria-controls", "suggestions"], ["aria-expanded", "false"], ["aria-autocomplete", "list"]]) box.setAttribute(name, value);
    let at = -1, typed = box.value, waiting = 0;
    const show = (words) => {
      list.replaceChildren(...words.map((word, place) => {
        const item = make("li", { textContent: word, id: `s${place}` });
        item.setAttribute("role", "option");
        item.addEventListener("mousedown", (event) => { event.preventDefault(); box.value = word; form.requestSubmit(); });
        return item;
      }));
      list.hidden = !words.length;
      at = -1;
      box.setAttribute("aria-expanded", String(!list.hidden));
      box.removeAttribute("aria-activedescendant");
    };
    const mark = (place) => {
      const items = all("li", list);
      at = (place + items.length + 1) % (items.length + 1);
      items.forEach((item, index) => item.setAttribute("aria-selected", String(index === at)));
      if (at < items.length) { box.value = items[at].textContent; box.setAttribute("aria-activedescendant", items[at].id); }
      else { box.value = typed; box.removeAttribute("aria-activedescendant"); }
    };
    box.addEventListener("input", () => {
      typed = box.value;
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        if (!typed.trim()) return show([]);
        try {
          const answer = await fetch(`${place}/suggest?q=${encodeURIComponent(typed)}`);
          const [asked, words] = await answer.json();
          if (asked === typed && document.activeElement === box) show(words);
        } catch { show([]); }
      }, 90);
    });
    box.addEventListener("keydown", (event) => {
      if (list.hidden) return;
      if (event.key === "ArrowDown") { event.preventDefault(); mark(at + 1); }
      if (event.key === "ArrowUp") { event.preventDefault(); mark(at < 0 ? all("li", list).length - 1 : at - 1); }
      if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); box.value = typed; show([]); }
    });
    box.addEventListener("blur", () => show([]));
  }

  // A filter is applied when it is chosen; by the keyboard, which runs through its values, by the button.
  for (const form of all(".filters")) {
    form.addEventListener("keydown", () => form.classList.add("keyed"));
    form.addEventListener("pointerdown", () => form.classList.remove("keyed"));
    form.addEventListener("change", () => { if (!form.classList.contains("keyed")) form.requestSubmit(); });
  }

  // What was done, with its undo, stays in sight for a while, and then where it stands.
  for (const notice of all(".notice.said")) setTimeout(() => notice.classList.remove("said"), 12_000);

  // An import under way.
  for (const progress of all("[data-progress]")) {
    const look = async () => {
      const state = await (await fetch(progress.dataset.progress)).json();
      one(".done", progress).textContent = state.done.toLocaleString("en");
      if (state.finished) location.assign(`${place}/data`); else setTimeout(look, 700);
    };
    setTimeout(look, 700);
  }
})();
