// Elements and figures as text. What a broker says is never markup: it only becomes text nodes.

const LONGEST = 200; // characters of a name or reason that are shown

export function element(tag, classes = "", ...children) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  made.append(...children.map((child) => (child instanceof Node ? child : clip(child))));
  return made;
}

export function clip(text) {
  const whole = String(text);
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST)}…` : whole;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// Small numbers with a decimal, large ones without.
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  return value !== 0 && Math.abs(value) < 10 && !Number.isInteger(value) ? value.toFixed(1) : grouped.format(value);
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return [value < 100 && unit > 0 ? value.toFixed(1) : grouped.format(value), units[unit]];
}

export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

export function metres(value) {
  return value >= 1000 ? `${value / 1000} km` : `${value} m`;
}

// The parameters of a mechanism: "alpha 2, grid 5".
export function parameters(set) {
  return Object.entries(set ?? {}).map(([name, value]) => `${name} ${value}`).join(", ");
}
