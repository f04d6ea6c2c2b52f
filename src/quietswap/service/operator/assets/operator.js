// Refreshes the open page when the service says that something changed.
(() => {
  "use strict";
  const state = document.getElementById("state");
  const live = document.getElementById("live");
  if (!state || !live || live.dataset.live !== "yes") return;
  let waiting = false;
  let again = false;

  const say = (text) => {
    if (state.textContent !== text) state.textContent = text;
  };

  const refresh = async () => {
    if (waiting || live.contains(document.activeElement)) {
      again = true; // not while a person works in it
      return;
    }
    waiting = true;
    again = false;
    try {
      const answer = await fetch(location.href, { redirect: "manual" });
      if (answer.type === "opaqueredirect") {
        location.reload(); // the session ended: the login follows
        return;
      }
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("live");
      if (fresh) {
        const open = [...live.querySelectorAll("details")].map((one) => one.open);
        fresh.querySelectorAll("details").forEach((one, place) => (one.open = open[place]));
        live.replaceChildren(...document.importNode(fresh, true).childNodes);
      }
      say("Live: this page follows the service.");
    } catch {
      say("Not up to date: the service does not answer.");
      again = true;
    }
    setTimeout(() => {
      waiting = false;
      if (again) refresh();
    }, 2000);
  };

  live.addEventListener("focusout", () => setTimeout(() => again && refresh(), 0));
  const stream = new EventSource("/operator/stream");
  stream.addEventListener("open", () => say("Live: this page follows the service."));
  stream.addEventListener("changed", refresh);
  stream.addEventListener("ended", () => location.reload());
  stream.addEventListener("error", () => say("Not up to date: the service does not answer."));
})();
