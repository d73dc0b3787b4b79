// The map: clients glide from where the last snapshot saw them to where the newest does.

import { colourOf, slotOf, trace } from "./marks.js";
import { clip, element, metres, number } from "./text.js";

const MARGIN = 14; // px around the area
const CHANGING = 2500; // ms that a change of scheme is seen
const REACH = 16; // px from the pointer to the client that it means
const LONGEST_BAR = 130; // px
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class ClientMap {
  constructor(canvas, scale, tooltip) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.scale = scale;
    this.tooltip = tooltip;
    this.clients = new Map();
    this.isolated = new Set();
    this.region = null;
    this.areas = [];
    this.until = 0; // performance.now() when everything will have come to rest
    this.glide = 1000;
    this.at = null;
    this.pointer = null;
    this.waiting = false;
    this.style();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.style();
      this.ask();
    });
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerdown", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => this.point(null));
  }

  update(snapshot) {
    const now = performance.now();
    if (this.at !== null) this.glide = Math.min(2000, Math.max(250, 1050 * (snapshot.at - this.at)));
    this.at = snapshot.at;
    this.region = snapshot.region;
    this.areas = snapshot.areas ?? [];
    this.isolated = new Set(snapshot.transitions.find(({ pending }) => pending === 0)?.isolated ?? []);
    const before = this.clients;
    this.clients = new Map();
    for (const [id, name, x, y, scheme, connected] of snapshot.positions) {
      const known = before.get(id);
      const [fromX, fromY] = known && !still.matches ? this.place(known, now) : [x, y];
      const slot = slotOf(scheme);
      const changed = known && known.slot !== slot ? now : (known?.changed ?? -CHANGING);
      this.clients.set(id, { id, name, x, y, fromX, fromY, since: now, scheme, slot, connected, changed });
    }
    this.until = now + Math.max(this.glide, CHANGING);
    const [x0, y0, x1, y1] = this.region.area;
    this.canvas.parentElement.style.setProperty("--aspect", (x1 - x0) / (y1 - y0));
    this.canvas.setAttribute("aria-label", this.summary(snapshot));
    this.ask();
  }

  summary(snapshot) {
    const [x0, y0, x1, y1] = snapshot.region.area;
    const schemes = snapshot.schemes.map(({ name, clients }) => `${clip(name)} ${number(clients)}`);
    return `Map of ${number(this.clients.size)} clients in ${number(x1 - x0)} m by ${number(y1 - y0)} m; ${schemes.join(", ")}`;
  }

  place(client, now) {
    const done = Math.min(1, Math.max(0, (now - client.since) / this.glide));
    return [client.fromX + (client.x - client.fromX) * done, client.fromY + (client.y - client.fromY) * done];
  }

  style() {
    const css = getComputedStyle(document.documentElement);
    this.colours = Object.fromEntries(
      ["text", "muted", "ground", "line", "place"].map((name) => [name, css.getPropertyValue(`--${name}`).trim()]),
    );
    this.schemes = Array.from({ length: 8 }, (_, slot) => colourOf(slot));
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw(performance.now()); // at once: resizing has wiped it
  }

  ask() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      this.draw(now);
      if (now < this.until) this.ask();
    });
  }

  // Metres to pixels: as large as fits, y to the north.
  fit() {
    const [x0, y0, x1, y1] = this.region.area;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const factor = Math.min((width - 2 * MARGIN) / (x1 - x0), (height - 2 * MARGIN) / (y1 - y0));
    const left = (width - factor * (x1 - x0)) / 2;
    const top = (height - factor * (y1 - y0)) / 2;
    return { factor, x: (x) => left + (x - x0) * factor, y: (y) => top + (y1 - y) * factor };
  }

  draw(now) {
    const { context } = this;
    context.clearRect(0, 0, this.canvas.clientWidth, this.canvas.clientHeight);
    if (this.region === null) return;
    const fit = this.fit();
    this.drawArea(fit);
    this.drawPlaces(fit);
    this.drawAreas(fit);
    this.drawClients(fit, now);
    this.drawNames(fit);
    this.showTooltip(fit, now);
  }

  drawArea(fit) {
    const { context, colours } = this;
    const [x0, y0, x1, y1] = this.region.area;
    const [left, top, width, height] = [fit.x(x0), fit.y(y1), (x1 - x0) * fit.factor, (y1 - y0) * fit.factor];
    context.fillStyle = colours.ground;
    context.fillRect(left, top, width, height);
    const step = niceLength(LONGEST_BAR / fit.factor);
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.beginPath();
    for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) {
      context.moveTo(fit.x(x), top);
      context.lineTo(fit.x(x), top + height);
    }
    for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) {
      context.moveTo(left, fit.y(y));
      context.lineTo(left + width, fit.y(y));
    }
    context.rect(left, top, width, height);
    context.stroke();
    this.scale.firstElementChild.textContent = metres(step);
    this.scale.lastElementChild.style.width = `${step * fit.factor}px`;
    this.scale.style.left = `${left + 10}px`;
    this.scale.style.bottom = `${this.canvas.clientHeight - top - height + 10}px`;
  }

  // A path along the rings of polygons, holes among them: fill it by the even-odd rule.
  traceOutline(fit, polygons) {
    const { context } = this;
    context.beginPath();
    for (const ring of polygons.flat()) {
      for (const [i, [x, y]] of ring.entries()) {
        if (i === 0) context.moveTo(fit.x(x), fit.y(y));
        else context.lineTo(fit.x(x), fit.y(y));
      }
      context.closePath();
    }
  }

  // Subscriptions' and plans' areas: those of plans have another colour.
  drawAreas(fit) {
    const { context, colours } = this;
    for (const { kind, outline } of this.areas) {
      this.traceOutline(fit, outline);
      const colour = kind === "plan" ? colours.text : colours.muted;
      context.globalAlpha = 0.08;
      context.fillStyle = colour;
      context.fill("evenodd");
      context.globalAlpha = 0.7;
      context.setLineDash(kind === "plan" ? [2, 3] : []);
      context.lineWidth = 1;
      context.strokeStyle = colour;
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = 1;
    }
  }

  drawPlaces(fit) {
    const { context, colours } = this;
    for (const place of this.region.places) {
      if (place.outline) {
        this.traceOutline(fit, place.outline);
      } else {
        context.beginPath();
        context.arc(fit.x(place.x), fit.y(place.y), place.radius * fit.factor, 0, 2 * Math.PI);
      }
      context.globalAlpha = 0.12;
      context.fillStyle = colours.place;
      context.fill("evenodd");
      context.globalAlpha = 1;
      context.setLineDash([5, 4]);
      context.lineWidth = 1.5;
      context.strokeStyle = colours.place;
      context.stroke();
      context.setLineDash([]);
    }
  }

  drawNames(fit) {
    const { context, colours } = this;
    context.font = "600 13px system-ui, sans-serif";
    context.textAlign = "center";
    context.lineJoin = "round";
    for (const place of this.region.places) {
      const [x, y] = [fit.x(place.x), Math.max(12, fit.y(place.y) - place.radius * fit.factor - 5)];
      context.lineWidth = 4;
      context.strokeStyle = colours.ground;
      context.strokeText(clip(place.name), x, y);
      context.fillStyle = colours.place;
      context.fillText(clip(place.name), x, y);
    }
  }

  drawClients(fit, now) {
    const { context, colours } = this;
    const room = Math.sqrt((this.canvas.clientWidth * this.canvas.clientHeight) / Math.max(1, this.clients.size));
    const size = Math.min(5, Math.max(2.2, room / 7));
    const groups = new Map(); // one path for all that look the same
    const changing = [];
    const isolated = [];
    for (const client of this.clients.values()) {
      const [x, y] = this.place(client, now);
      client.px = fit.x(x);
      client.py = fit.y(y);
      const key = client.slot * 2 + (client.connected ? 1 : 0);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(client);
      if (now - client.changed < CHANGING) changing.push(client);
      if (this.isolated.has(client.name)) isolated.push(client);
    }
    for (const [key, members] of groups) {
      const slot = key >> 1;
      context.beginPath();
      for (const client of members) trace(context, slot, client.px, client.py, size);
      if (key & 1) {
        context.lineWidth = size > 3 ? 1 : 0.5;
        context.strokeStyle = colours.ground;
        context.fillStyle = this.schemes[slot];
        context.fill();
      } else {
        context.lineWidth = 1.2;
        context.fillStyle = colours.ground;
        context.fill();
        context.strokeStyle = colours.muted;
      }
      context.stroke();
    }
    for (const client of changing) {
      const age = (now - client.changed) / CHANGING;
      context.globalAlpha = 1 - age;
      context.lineWidth = 2;
      context.strokeStyle = this.schemes[client.slot];
      context.beginPath();
      context.arc(client.px, client.py, size + 2 + (still.matches ? 4 : 12 * age), 0, 2 * Math.PI);
      context.stroke();
    }
    context.globalAlpha = 1;
    context.lineWidth = 2.5;
    context.strokeStyle = colours.text;
    for (const client of isolated) {
      context.beginPath();
      context.arc(client.px, client.py, size + 4, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    this.pointer = event && { x: event.clientX - box.left, y: event.clientY - box.top };
    this.ask();
  }

  showTooltip(fit, now) {
    let nearest = null;
    let reach = REACH;
    for (const client of this.pointer ? this.clients.values() : []) {
      const distance = Math.hypot(client.px - this.pointer.x, client.py - this.pointer.y);
      if (distance < reach) [nearest, reach] = [client, distance];
    }
    this.tooltip.hidden = nearest === null;
    if (nearest === null) return;
    const [x, y] = this.place(nearest, now);
    const state = [nearest.scheme, nearest.connected ? "" : "not connected", this.isolated.has(nearest.name) ? "isolated" : ""];
    this.tooltip.replaceChildren(
      element("strong", "", nearest.name),
      element("span", "", `no. ${nearest.id} · ${state.filter(Boolean).join(" · ")}`),
      element("span", "", `x ${x.toFixed(1)} m, y ${y.toFixed(1)} m`),
    );
    const right = nearest.px > this.canvas.clientWidth / 2;
    this.tooltip.style.left = right ? "auto" : `${nearest.px + 12}px`;
    this.tooltip.style.right = right ? `${this.canvas.clientWidth - nearest.px + 12}px` : "auto";
    this.tooltip.style.top = `${Math.min(nearest.py, this.canvas.clientHeight - 70)}px`;
  }
}

// The longest of 1, 2, 5, 10, 20, ... that is not longer.
export function niceLength(longest) {
  const power = 10 ** Math.floor(Math.log10(longest));
  const leading = longest / power;
  return power * (leading >= 5 ? 5 : leading >= 2 ? 2 : 1);
}
