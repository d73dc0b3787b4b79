// A rate over the last minutes, with a tick for each transition.

import { element } from "./text.js";

export const WINDOW = 180; // s
const NARROWEST = 30; // s that are shown at least
const GAP = 5; // s without a value after which the line is broken

export class Chart {
  // show(value) gives the figure and its unit.
  constructor(title, show) {
    this.show = show;
    this.points = [];
    this.ticks = [];
    this.figure = element("strong", "", "–");
    this.unit = element("small");
    this.most = element("small", "most");
    this.canvas = element("canvas");
    this.canvas.setAttribute("aria-hidden", "true");
    this.element = element("article", "chart", element("h2", "", title), element("p", "", this.figure, this.unit, this.most), this.canvas);
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  push(at, value, ticks) {
    this.points.push([at, value]);
    while (this.points[0][0] < at - WINDOW) this.points.shift();
    this.ticks = ticks;
    [this.figure.textContent, this.unit.textContent] = this.show(value);
    this.draw();
  }

  draw() {
    if (this.points.length === 0) return;
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const css = getComputedStyle(document.documentElement);
    const [line, tick] = ["--chart", "--muted"].map((name) => css.getPropertyValue(name).trim());
    const [[begin], [end]] = [this.points[0], this.points.at(-1)];
    const shown = Math.max(NARROWEST, end - begin);
    const most = Math.max(...this.points.map(([, value]) => value), 1e-9);
    this.most.textContent = `max ${this.show(most).join(" ")}`;
    const x = (at) => width - ((end - at) / shown) * width;
    const y = (value) => height - 1.5 - (value / most) * (height - 5);

    context.strokeStyle = tick;
    context.setLineDash([2, 3]);
    context.beginPath();
    for (const at of this.ticks.filter((time) => time >= begin)) {
      context.moveTo(x(at), 0);
      context.lineTo(x(at), height);
    }
    context.stroke();
    context.setLineDash([]);
    for (const run of runs(this.points)) {
      context.beginPath();
      run.forEach(([at, value], i) => (i === 0 ? context.moveTo(x(at), y(value)) : context.lineTo(x(at), y(value))));
      context.strokeStyle = line;
      context.lineWidth = 2;
      context.lineJoin = "round";
      context.stroke();
      context.lineTo(x(run.at(-1)[0]), height);
      context.lineTo(x(run[0][0]), height);
      context.globalAlpha = 0.15;
      context.fillStyle = line;
      context.fill();
      context.globalAlpha = 1;
    }
  }
}

function runs(points) {
  const all = [[points[0]]];
  for (let i = 1; i < points.length; i += 1) {
    if (points[i][0] - points[i - 1][0] > GAP) all.push([]);
    all.at(-1).push(points[i]);
  }
  return all;
}
