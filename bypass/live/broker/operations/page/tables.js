// Transitions as they happen, and the clients for those who cannot see the map.

import { clock, element, number, parameters, span } from "./text.js";

const NAMES = 3; // isolated clients that are named
const ROWS = 200; // clients that are listed at a time

export class Transitions {
  constructor(body, none) {
    this.body = body;
    this.none = none;
    this.rows = new Map(); // id -> what it said and its row
  }

  update(transitions, now) {
    this.none.hidden = transitions.length > 0;
    const rows = new Map();
    for (const transition of transitions) {
      const said = JSON.stringify(transition);
      const known = this.rows.get(transition.id);
      rows.set(transition.id, known?.said === said ? known : { said, ...transitionRow(transition) });
    }
    const elements = [...rows.values()].map(({ row }) => row);
    const same = elements.length === this.body.children.length && elements.every((row, i) => row === this.body.children[i]);
    if (!same) this.body.replaceChildren(...elements);
    this.rows = rows;
    for (const { at, ago } of rows.values()) ago.textContent = `${span(now - at)} ago`;
  }
}

function transitionRow(transition) {
  const { at, plan, why, who, actions, isolated, took_ms: took, acknowledged } = transition;
  const ago = element("small");
  const row = element(
    "tr",
    stateOf(transition),
    cell("When", "", element("span", "", clock(at)), ago),
    cell("Plan", "", element("strong", "", plan), element("small", "", [why, who && `by ${who}`].filter(Boolean).join(" · "))),
    cell("Change", "", ...actions.map(change)),
    cell("Clients", "", ...progress(transition)),
    cell("Took", "number", took === null ? "–" : took < 10_000 ? `${number(took)} ms` : span(took / 1000)),
    cell("Acknowledged", "number", acknowledged === null ? "–" : `${(100 * acknowledged).toFixed(1)} %`),
    cell("Isolated", isolated.length > 0 ? "bad" : "", isolatedText(isolated)),
  );
  return { at, ago, row };
}

function stateOf({ pending, failed, isolated }) {
  if (pending > 0) return "running";
  return failed > 0 || isolated.length > 0 ? "failed" : "done";
}

function change({ proxy, from, to, set, outcome }) {
  const values = parameters(set);
  const line = element("span", "change", element("small", "", proxy), ` ${from ?? "nothing"}${to === null ? "" : ` → ${to}`}`);
  if (values) line.append(element("small", "", ` (${values})`));
  if (outcome && outcome !== "done") line.append(element("small", "outcome", ` ${outcome}`));
  return line;
}

function progress({ clients, done, failed, obsolete, pending }) {
  const bar = element("span", "bar");
  bar.setAttribute("aria-hidden", "true");
  for (const [kind, count] of [["done", done], ["failed", failed], ["obsolete", obsolete], ["pending", pending]]) {
    const part = element("span", kind);
    part.style.flexGrow = count;
    bar.append(part);
  }
  const text = [`${number(done)} of ${number(clients)} done`];
  if (failed > 0) text.push(`${number(failed)} failed`);
  if (obsolete > 0) text.push(`${number(obsolete)} obsolete`);
  if (pending > 0) text.push(`${number(pending)} pending`);
  return [bar, element("small", "", text.join(" · "))];
}

function isolatedText(names) {
  if (names.length === 0) return "none";
  const more = names.length - NAMES;
  return names.slice(0, NAMES).join(", ") + (more > 0 ? ` and ${number(more)} more` : "");
}

export class Clients {
  constructor(details, wanted, found, body) {
    this.details = details;
    this.wanted = wanted;
    this.found = found;
    this.body = body;
    this.positions = [];
    details.addEventListener("toggle", () => this.draw());
    wanted.addEventListener("input", () => this.draw());
  }

  update(positions) {
    this.positions = positions;
    this.draw();
  }

  draw() {
    if (!this.details.open) return;
    const wanted = this.wanted.value.toLowerCase();
    const found = this.positions.filter(([, name, , , scheme]) => `${name}\n${scheme}`.toLowerCase().includes(wanted));
    this.found.textContent = `${number(Math.min(found.length, ROWS))} of ${number(found.length)} shown`;
    this.body.replaceChildren(
      ...found.slice(0, ROWS).map(([id, name, x, y, scheme, connected]) =>
        element(
          "tr",
          "",
          cell("Number", "number", id),
          cell("Name", "", name),
          cell("Scheme", "", scheme),
          cell("x (m)", "number", x.toFixed(1)),
          cell("y (m)", "number", y.toFixed(1)),
          cell("Connected", "", connected ? "yes" : "no"),
        ),
      ),
    );
  }
}

function cell(label, classes, ...children) {
  const made = element("td", classes, ...children);
  made.dataset.label = label; // names the value where rows are shown as cards
  return made;
}
