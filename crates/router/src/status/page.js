const SPAN = 900, WINDOW = 60;
let points = [], past = [];
const charts = { hit: new Chart($("hit")), rate: new Chart($("rate")) };

const change = (now, then, key) => (then && now[key] >= then[key] ? now[key] - then[key] : null);
const share = (now, then, part, whole) => {
  const all = change(now, then, whole), some = change(now, then, part);
  return all > 0 && some !== null ? Math.min(1, some / all) : null;
};

// Differences over 20 s: long enough to be smooth, short enough to follow.
const series = (now) => {
  const out = { matched: [], reported: [], rate: [], flying: [] };
  let from = 0;
  for (const point of points) {
    while (points[from + 1] && points[from + 1].t <= point.t - 20) from += 1;
    const then = points[from], ago = now.t - point.t, took = point.t - then.t;
    if (ago > SPAN + 20 || took <= 0) continue;
    out.matched.push([ago, share(point, then, "matched_tokens", "prompt_tokens")]);
    out.reported.push([ago, share(point, then, "hit_tokens", "queried_tokens")]);
    out.rate.push([ago, (change(point, then, "requests") ?? 0) / took]);
    out.flying.push([ago, point.in_flight]);
  }
  return out;
};

const nice = (value) => {
  const step = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 4, 5, 10].map((n) => n * step).find((n) => n >= value) ?? value;
};

const drawCharts = (now) => {
  const { matched, reported, rate, flying } = series(now);
  const known = points.length ? now.t - points[0].t : 0;
  const span = [120, 360, SPAN].find((seconds) => seconds >= known) ?? SPAN;
  charts.hit.set([
    { name: "matched", cls: "a", points: matched, format: percent },
    { name: "reported", cls: "b", points: reported, format: percent },
  ], 1, span);
  const most = Math.max(4, ...rate.map((p) => p[1]), ...flying.map((p) => p[1]));
  charts.rate.set([
    { name: "a second", cls: "a", points: rate, format: number },
    { name: "in flight", cls: "b", points: flying, format: number },
  ], nice(most), span);
};

const tile = (label, value, unit, below, bad) =>
  node("div", bad ? "tile bad" : "tile", node("span", "", label), node("b", "", value, node("small", "", unit)), node("em", "", below));

const drawTiles = (now, then) => {
  const p = now.point, q = then?.point, took = q ? p.t - q.t : 0;
  const rate = took > 0 ? change(p, q, "requests") / took : null;
  const firsts = change(now, then, "first_byte_count");
  const first = firsts > 0 ? ((now.first_byte_seconds - then.first_byte_seconds) / firsts) * 1000 : null;
  const up = now.workers.filter((w) => w.state === "ready").length;
  const sum = (key) => now.workers.reduce((all, w) => all + (w[key] ?? 0), 0);
  const hot = now.workers.filter((w) => w.hot).length;
  const failed = change(now, then, "upstream_errors") + change(now, then, "refused");
  const held = sum("held");
  const rateOf = (value) => (known(value) ? (value * 100).toFixed(value < 0.1 ? 1 : 0) : "–");
  $("tiles").replaceChildren(
    tile("Requests", number(rate), "/s", number(p.requests) + " since the start"),
    tile("Prefix hit rate", rateOf(q && share(p, q, "matched_tokens", "prompt_tokens")), "%", "engines say " + percent(q && share(p, q, "hit_tokens", "queried_tokens"))),
    tile("First byte", first === null ? "–" : millis(first).split(" ")[0], first === null ? "" : millis(first).split(" ")[1], "mean, last minute"),
    tile("In flight", number(p.in_flight), "", number(sum("waiting")) + " without a first byte"),
    tile("Held back", number(held), "", number(now.retries) + " retries · " + number(now.cancelled) + " left"),
    tile("Workers ready", String(up), " of " + now.workers.length, hot ? hot + " hot" : "none hot", up < now.workers.length),
    tile("Failures", number(failed), "/min", "errors and refusals", failed > 0),
  );
};

const meter = (label, fill, cls, text, marks, title) => {
  const track = node("div", "track");
  const bar = node("div", "fill " + cls);
  bar.style.width = Math.min(100, fill * 100) + "%";
  track.append(bar);
  for (const [at, kind] of marks) {
    const mark = node("div", "mark " + kind);
    mark.style.left = `calc(${Math.min(100, at * 100)}% - 1px)`;
    track.append(mark);
  }
  const made = node("div", "meter", node("span", "label", label), track, node("em", "", text));
  made.title = title;
  made.setAttribute("role", "cell");
  return made;
};

const cell = (label, text, optional) => {
  const made = node("span", optional ? "n opt" : "n", node("span", "label", label), text);
  if (text === "–") made.classList.add("unknown");
  made.setAttribute("role", "cell");
  return made;
};

const drawWorkers = (now, then) => {
  const took = then ? now.point.t - then.point.t : 0;
  const rows = now.workers.map((w) => {
    const before = then?.workers.find((other) => other.name === w.name);
    const limit = now.max_ongoing * w.weight;
    const load = Math.max(w.in_flight, (w.running ?? 0) + (w.queued ?? 0));
    const who = node("div", "who", node("b", "", w.name), node("span", "chip " + w.state, w.state));
    who.setAttribute("role", "cell");
    if (w.pool) who.append(node("span", "chip", w.pool));
    if (w.hot) who.append(node("span", "chip hot", "hot"));
    if (w.weight !== 1) who.append(node("span", "chip", "× " + number(w.weight)));
    if (w.scrape_age > 5) who.append(node("span", "chip draining", "silent for " + duration(w.scrape_age)));
    const full = Math.max(limit, load) * 1.25;
    const row = node("div", w.state === "down" ? "row gone" : "row", who,
      meter("load", load / full, load > limit ? "over" : "", number(load) + " / " + number(limit), [[limit / full, ""]], "requests there; the line is max_ongoing"),
      known(w.kv_use)
        ? meter("KV", w.kv_use, w.hot ? "hot" : "", percent(w.kv_use), [[now.low_watermark, "low"], [now.high_watermark, ""]], "KV use with both watermarks")
        : meter("KV", 0, "", "unknown", [], "the engine does not tell"),
      cell("held", number(w.held)), cell("waiting", number(w.waiting), true), cell("queued", number(w.queued), true),
      cell("prefill left", millis(w.pending_ms)),
      cell("engine hits", percent(before ? share(w, before, "hit_tokens", "queried_tokens") : null)),
      cell("prefixes", number(w.residency), true),
      cell("req/s", number(took > 0 && before ? (change(w, before, "requests") ?? 0) / took : null)));
    row.setAttribute("role", "row");
    return row;
  });
  const none = node("p", "empty", "No workers are known.");
  $("workers").replaceChildren(...(rows.length ? rows : [none]));
  $("marks").textContent = `hot from ${percent(now.high_watermark)} KV use, normal again at ${percent(now.low_watermark)}`;
};

const bar = (name, part, count, text, cls) => {
  const fill = node("div", "fill");
  fill.style.width = (part * 100).toFixed(1) + "%";
  return node("div", "item " + cls, name, node("div", "track", fill), node("span", "", count), node("span", "", text));
};

const drawReasons = (now, then) => {
  const since = (name) => now.reasons[name] - (then?.reasons[name] ?? 0);
  const all = Object.keys(now.reasons).map((name) => [name, since(name), now.reasons[name]]);
  const sum = all.reduce((total, [, count]) => total + count, 0);
  const shown = all.filter(([, , ever]) => ever > 0).sort((a, b) => b[1] - a[1] || b[2] - a[2]);
  const items = shown.map(([name, count]) => {
    const cls = (name.startsWith("spill") || name === "retry" ? "spill" : "") + (count ? "" : " zero");
    return bar(node("span", "", name.replaceAll("_", " ")), sum ? count / sum : 0, number(count), percent(sum ? count / sum : null), cls);
  });
  $("reasons").replaceChildren(...(items.length ? items : [node("p", "empty", "No request has been placed yet.")]));
  $("window").textContent = then ? `decisions in the last ${duration(Math.round(now.point.t - then.point.t))}` : "decisions since the start";
};

const drawPrefixes = (now) => {
  const most = Math.max(1, ...now.prefixes.map((p) => p.requests));
  const items = now.prefixes.map((p) =>
    bar(node("code", "", p.hash), p.requests / most, number(p.requests), number(p.tokens) + " tok", ""));
  $("prefixes").replaceChildren(...(items.length ? items : [node("p", "empty", "No signed request has come yet.")]));
};

const draw = (now) => {
  past.push(now);
  while (past.length > 1 && past[1].point.t <= now.point.t - WINDOW) past.shift();
  if (!points.length || now.point.t - points.at(-1).t >= 1.9) points.push(now.point);
  while (points.length && points[0].t < now.point.t - SPAN - 30) points.shift();
  const then = past.length > 1 ? past[0] : null;
  $("facts").textContent = `version ${now.version} · up ${duration(now.point.t)} · policy ${now.policy.replaceAll("_", " ")} · ${number(now.connections_open)} connections · ${number(now.residency_entries)} prefixes known`;
  drawTiles(now, then);
  drawCharts(now.point);
  drawWorkers(now, then);
  drawReasons(now, then);
  drawPrefixes(now);
};

const say = (cls, text) => {
  $("live").className = "live " + cls;
  $("live").lastChild.textContent = text;
};
const source = new EventSource("events");
source.addEventListener("history", (event) => {
  points = JSON.parse(event.data).points;
  past = [];
});
source.addEventListener("now", (event) => {
  const now = JSON.parse(event.data);
  say(now.draining ? "draining" : "serving", now.draining ? "draining" : "live");
  draw(now);
});
source.addEventListener("error", () => say("lost", "connection lost, trying again"));
