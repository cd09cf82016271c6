"use strict";
// Everything that comes from the router is put in as text, never as markup.
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const node = (tag, cls, ...children) => {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  made.append(...children);
  return made;
};
const shape = (tag, attributes, text) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
};
const known = (value) => value !== null && value !== undefined && Number.isFinite(value);
const number = (value) => {
  if (!known(value)) return "–";
  if (value >= 1e6) return (value / 1e6).toFixed(1) + "M";
  if (value >= 1e4) return (value / 1e3).toFixed(0) + "k";
  if (value >= 100 || Number.isInteger(value)) return String(Math.round(value));
  return value.toFixed(value >= 10 ? 1 : 2).replace(/\.?0+$/, "");
};
const percent = (share) => (known(share) ? (share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0) + " %" : "–");
const duration = (seconds) => {
  const s = Math.floor(seconds);
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " days";
};
const millis = (ms) => (!known(ms) ? "–" : ms >= 1000 ? (ms / 1000).toFixed(1) + " s" : Math.round(ms) + " ms");

// A line chart over time: series of [seconds ago, value or null], each with a format of its own.
// Each chart keeps where the pointer is, so that a redraw does not lose the reading.
class Chart {
  constructor(box) {
    this.box = box;
    this.at = null;
    const move = (event) => {
      this.at = event.clientX - box.getBoundingClientRect().left;
      this.draw();
    };
    box.addEventListener("pointermove", move);
    box.addEventListener("pointerdown", move);
    box.addEventListener("pointerleave", () => { this.at = null; this.draw(); });
    new ResizeObserver(() => this.draw()).observe(box);
  }

  // `span` in seconds; `top` is the highest value that fits.
  set(series, top, span) {
    this.series = series;
    this.span = span;
    this.top = top;
    this.draw();
  }

  draw() {
    if (!this.series) return;
    const width = this.box.clientWidth, height = this.box.clientHeight;
    const left = 38, right = width - 8, floor = height - 20, ceiling = 8;
    const x = (ago) => right - (ago / this.span) * (right - left);
    const y = (value) => floor - (value / this.top) * (floor - ceiling);
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    svg.append(shape("title", {}, this.series.map((s) => `${s.name}: ${s.format(s.points.at(-1)?.[1])}`).join(", ")));
    for (const part of [0, 0.5, 1]) {
      const value = part * this.top;
      svg.append(shape("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }));
      svg.append(shape("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, this.series[0].format(value).replace(" ", "")));
    }
    for (const third of [3, 2, 1, 0]) {
      const ago = (third * this.span) / 3;
      const text = third ? "−" + (this.span < 300 ? ago + " s" : ago / 60 + " min") : "now";
      const anchor = third === 3 ? "start" : third ? "middle" : "end";
      svg.append(shape("text", { x: x(ago), y: height - 4, "text-anchor": anchor }, text));
    }
    for (const { cls, points } of this.series) {
      let path = "", gap = true;
      for (const [ago, value] of points) {
        if (!known(value) || ago > this.span) { gap = true; continue; }
        path += `${gap ? "M" : "L"}${x(ago).toFixed(1)} ${y(Math.min(value, this.top)).toFixed(1)}`;
        gap = false;
      }
      if (path) svg.append(shape("path", { class: cls, d: path }));
      const last = points.at(-1);
      if (last && known(last[1])) svg.append(shape("circle", { class: `dot ${cls}`, cx: x(last[0]), cy: y(Math.min(last[1], this.top)), r: 4 }));
    }
    const tip = this.at === null ? null : this.read(svg, x, y, { left, right, floor, ceiling });
    this.box.replaceChildren(...(tip ? [svg, tip] : [svg]));
    if (tip) {
      const at = Math.min(Math.max(left, this.at), right);
      tip.style.left = Math.min(at + 12, width - tip.offsetWidth) + "px";
      if (at + 12 + tip.offsetWidth > width) tip.style.left = at - 12 - tip.offsetWidth + "px";
    }
  }

  read(svg, x, y, { left, right, floor, ceiling }) {
    const ago = ((right - Math.min(Math.max(left, this.at), right)) / (right - left)) * this.span;
    const nearest = (points) => points.reduce((a, b) => (!a || Math.abs(b[0] - ago) < Math.abs(a[0] - ago) ? b : a), null);
    const found = this.series.map((s) => [s, nearest(s.points)]).filter(([, point]) => point);
    if (!found.length) return null;
    const when = found[0][1][0];
    svg.append(shape("line", { class: "cross", x1: x(when), x2: x(when), y1: ceiling, y2: floor }));
    const tip = node("div", "tip", node("div", "", when < 1 ? "now" : duration(when) + " ago"));
    for (const [series, [at, value]] of found) {
      if (known(value)) svg.append(shape("circle", { class: `dot ${series.cls}`, cx: x(at), cy: y(Math.min(value, this.top)), r: 4 }));
      tip.append(node("div", "", node("i", series.cls), series.name, node("b", "", series.format(value))));
    }
    return tip;
  }
}
