// Search, and requests with the visitor's own key. The key is nowhere but in the fields of this page.
(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const search = document.getElementById("search");
  const list = document.getElementById("list");
  const sections = all("section").map((section) => ({
    section,
    link: document.querySelector(`nav a[href="#${section.id}"]`).parentElement,
    title: section.querySelector("header").textContent.toLowerCase(),
    blocks: all(".block", section).map((block) => ({
      block,
      parts: all("[data-part]", block).map((part) => ({
        part,
        text: (part.querySelector("summary") ?? part).textContent.toLowerCase(),
      })),
    })),
  }));

  /** Shows the operations that have all words, and of each what has them, or everything if its title has. */
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text) => words.every((word) => text.includes(word));
    let found = 0;
    for (const { section, link, title, blocks } of sections) {
      let isShown = has(title);
      const isWhole = isShown;
      for (const { block, parts } of blocks) {
        for (const { part, text } of parts) part.hidden = !isWhole && !has(`${title} ${text}`);
        block.hidden = !isWhole && parts.every(({ part }) => part.hidden);
        isShown ||= !block.hidden;
      }
      section.hidden = link.hidden = !isShown;
      found += isShown;
    }
    for (const group of all(".group", list)) group.hidden = all("li:not([hidden])", group).length === 0;
    list.open = words.length > 0 || isWide.matches;
    const said = found ? `In ${found} of ${sections.length} operations.` : "Nothing found.";
    document.getElementById("found").textContent = words.length ? said : "";
  };

  const isWide = matchMedia("(min-width: 60rem)");
  list.open = isWide.matches;
  search.addEventListener("input", filter);

  /** Returns what `fetch` takes for a filled form: its own origin, no cookie, no redirect. */
  const request = (form) => {
    const { method } = form.dataset;
    const query = new URLSearchParams();
    const headers = {};
    let { path } = form.dataset;
    for (const { name, value, dataset } of all("[data-in]", form)) {
      if (value === "") continue;
      if (dataset.in === "path") path = path.replace(`{${name}}`, encodeURIComponent(value));
      else if (dataset.in === "header") headers[name] = value;
      else query.set(name, value);
    }
    const body = form.elements.body?.value || undefined;
    if (body) headers["Content-Type"] = "application/json";
    const url = query.size ? `${path}?${query}` : path;
    return [url, { method, headers, body, credentials: "omit", redirect: "error", cache: "no-store" }];
  };

  const pretty = (text) => {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text; // CSV, events, or what is not complete
    }
  };

  const send = async (form, stop) => {
    const [status, shown] = all("[role=status], pre", form);
    status.textContent = "Sending…";
    shown.hidden = true;
    const begin = performance.now();
    try {
      const [url, options] = request(form);
      const answer = await fetch(url, { ...options, signal: stop.signal });
      const took = Math.round(performance.now() - begin);
      status.textContent = `HTTP ${answer.status} in ${took} ms, request ${answer.headers.get("X-Request-Id")}`;
      shown.hidden = false;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        text += read.value;
        shown.textContent = text;
      }
      shown.textContent = pretty(text);
    } catch (error) {
      const said = stop.signal.aborted ? "Stopped." : `No answer: ${error.message}`;
      status.textContent = shown.hidden ? said : `${status.textContent}. ${said}`;
    }
  };

  for (const form of all("form")) {
    const halt = form.querySelector("button[type=button]");
    let running = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (running) return; // a double click sends once
      running = new AbortController();
      halt.hidden = false;
      await send(form, running);
      running = null;
      if (document.activeElement === halt) form.querySelector("button").focus();
      halt.hidden = true;
    });
    halt.addEventListener("click", () => running?.abort());
  }

  const keys = all("input[name=X-API-Key]");
  for (const field of keys) {
    field.addEventListener("input", () => keys.forEach((one) => (one.value = field.value)));
  }
})();
