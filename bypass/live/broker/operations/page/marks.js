// How schemes look: a colour and a shape each, so that nobody has to tell them by colour alone.

const SVG = "http://www.w3.org/2000/svg";
const KNOWN = ["radial", "ste", "grid", "egrid", "attract", "multi"]; // look the same on every screen
const SLOTS = 8;

const polygon = (corners, turn) =>
  Array.from({ length: corners }, (_, i) => {
    const angle = turn + (2 * Math.PI * i) / corners;
    return [1.2 * Math.cos(angle), 1.2 * Math.sin(angle)];
  });
const PLUS = [[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]];
const SHAPES = [
  null, // a circle
  polygon(4, Math.PI / 4),
  polygon(3, -Math.PI / 2),
  polygon(4, 0),
  polygon(3, Math.PI / 2),
  PLUS,
  polygon(6, 0),
  polygon(5, -Math.PI / 2),
];

const slots = new Map(KNOWN.map((name, slot) => [name, slot]));

export function slotOf(scheme) {
  if (!slots.has(scheme)) slots.set(scheme, slots.size % SLOTS);
  return slots.get(scheme);
}

export function colourOf(slot) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--scheme-${slot}`).trim();
}

// Adds the shape of a slot around a point to the context's current path.
export function trace(context, slot, x, y, size) {
  const corners = SHAPES[slot];
  if (corners === null) {
    context.moveTo(x + size, y);
    context.arc(x, y, size, 0, 2 * Math.PI);
    return;
  }
  corners.forEach(([dx, dy], i) => {
    if (i === 0) context.moveTo(x + dx * size, y + dy * size);
    else context.lineTo(x + dx * size, y + dy * size);
  });
  context.closePath();
}

export function schemeIcon(slot) {
  const corners = SHAPES[slot];
  const shape = document.createElementNS(SVG, corners === null ? "circle" : "polygon");
  if (corners === null) shape.setAttribute("r", "5");
  else shape.setAttribute("points", corners.map(([x, y]) => `${x * 5},${y * 5}`).join(" "));
  shape.style.fill = `var(--scheme-${slot})`;
  return icon(shape);
}

// A ring of a kind: absent, changing, isolated.
export function ringIcon(kind) {
  const ring = document.createElementNS(SVG, "circle");
  ring.setAttribute("r", "5");
  ring.setAttribute("class", kind);
  return icon(ring);
}

function icon(shape) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "-8 -8 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.append(shape);
  return svg;
}
