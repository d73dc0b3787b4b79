// A broker's dashboard: one snapshot a second, drawn as it comes.

import { Chart, WINDOW } from "./chart.js";
import { ClientMap } from "./map.js";
import { ringIcon, schemeIcon, slotOf } from "./marks.js";
import { watch } from "./stream.js";
import { Clients, Transitions } from "./tables.js";
import { bytes, clock, element, number, parameters, span } from "./text.js";

const TOTALS = ["publications", "deliveries", "acknowledged", "waiting", "understood"]; // counters that are no trouble
const STATES = {
  connecting: "connecting",
  live: "live",
  silent: "no answer",
  closed: "shut down",
  gone: "gone",
  refused: "turned away",
};

const at = (id) => document.getElementById(id);
const rate = (value) => [number(value), "/s"];
const byteRate = (value) => {
  const [figure, unit] = bytes(value);
  return [figure, `${unit}/s`];
};
const charts = {
  publications: new Chart("Publications", rate),
  deliveries: new Chart("Deliveries", rate),
  bytes_in: new Chart("Received", byteRate),
  bytes_out: new Chart("Sent", byteRate),
};
at("charts").prepend(...Object.values(charts).map((chart) => chart.element));

const map = new ClientMap(at("canvas"), at("scale"), at("tooltip"));
const transitions = new Transitions(at("transition-rows"), at("no-transitions"));
const clients = new Clients(at("clients"), at("wanted"), at("found"), at("client-rows"));
let state = "connecting";
let snapshot = null;
let first = null; // when the first snapshot was made
let arrived = 0; // when the last snapshot did, on this machine's clock

watch(
  (next) => {
    snapshot = next;
    arrived = Date.now();
    map.update(snapshot);
    clients.update(snapshot.positions);
    const ticks = snapshot.transitions.map((transition) => transition.at).filter((time) => time > snapshot.at - WINDOW);
    for (const [name, chart] of Object.entries(charts)) chart.push(snapshot.at, snapshot.rates[name], ticks);
    at("charts-note").textContent = `last ${span(Math.min(WINDOW, snapshot.at - (first ??= snapshot.at)))} · dotted lines are transitions`;
    showLegend();
    showFacts();
    showTotals();
    showCounters();
    showAlert();
    transitions.update(snapshot.transitions, snapshot.at);
  },
  (next) => {
    state = next;
    document.body.dataset.state = state;
    at("state-text").textContent = STATES[state];
    document.title = state === "live" ? "bypass broker" : `${STATES[state]} – bypass broker`;
    showAlert();
  },
);
setInterval(showAlert, 1000);

// -- what a broker says ------------------------------------------------------------------------------------

function showLegend() {
  const { schemes, positions, clients: total } = snapshot;
  const entries = schemes.map(({ name, set, clients: count }) => {
    const values = parameters(set);
    return element("li", "", schemeIcon(slotOf(name)), element("bdi", "", name), ...(values ? [element("small", "", values)] : []), element("strong", "", number(count)));
  });
  const rings = [["absent", "not connected"], ["changing", "just changed"], ["isolated", "isolated"]];
  at("legend").replaceChildren(...entries, ...rings.map(([kind, text]) => element("li", "ring", ringIcon(kind), text)));
  at("map-note").textContent = `${number(positions.length)} of ${number(total.sessions)} clients have a place`;
}

function showFacts() {
  const { listen, epoch, version, started, at: now, open } = snapshot;
  const facts = [
    ["listens at", listen.join(", ")],
    ["up", span(now - started)],
    ["epoch", number(epoch)],
    ["version", version],
  ];
  const shown = facts.map(([name, value]) => element("div", "", element("dt", "", name), element("dd", "", value)));
  if (open) shown.push(element("div", "warning", element("dt", "", "access"), element("dd", "", "open: no keys, no encryption")));
  at("facts").replaceChildren(...shown);
}

function showTotals() {
  const { clients: total, subscriptions, counters, store } = snapshot;
  const [size, unit] = bytes(store.bytes);
  const tiles = [
    ["Connected", number(total.connected), `of ${number(total.sessions)} sessions`],
    ["Subscriptions", number(subscriptions), total.sessions > 0 ? `${(subscriptions / total.sessions).toFixed(1)} per session` : ""],
    ["Waiting", number(counters.waiting), "unacknowledged"],
    ["Commit", `${store.commit_ms.toFixed(1)} ms`, `store ${size} ${unit}`],
  ];
  at("totals").replaceChildren(
    ...tiles.map(([title, figure, note]) => element("article", "tile", element("h2", "", title), element("strong", "", figure), element("small", "", note))),
  );
}

function showCounters() {
  const counters = Object.entries(snapshot.counters).filter(([name]) => !TOTALS.includes(name) && !name.startsWith("bytes_"));
  at("counters").replaceChildren(
    ...counters.map(([name, count]) => element("div", count > 0 ? "some" : "", element("dt", "", name.replaceAll("_", " ")), element("dd", "", number(count)))),
  );
}

// -- what is wrong -----------------------------------------------------------------------------------------

function showAlert() {
  const text = trouble();
  // Only what is new is written: it is read out to those who do not see it.
  if (at("alert-text").textContent !== text) at("alert-text").textContent = text;
  at("alert").hidden = text === "";
  const known = snapshot !== null && state !== "live";
  at("alert-since").textContent = known ? `Last news at ${clock(arrived / 1000)}, ${span((Date.now() - arrived) / 1000)} ago. What you see is how things were then.` : "";
}

function trouble() {
  switch (state) {
    case "silent":
      return "The broker does not answer: its process is there, but its loop is stuck.";
    case "closed":
      return "The broker was shut down. Waiting for it to come back.";
    case "gone":
      return "The broker is gone. Trying to reach it again.";
    case "refused":
      return "The broker turned this page away: too many viewers. Trying again.";
    default:
      return snapshot?.store.failing ? `The store cannot be written, so nothing is accepted: ${snapshot.store.failing}` : "";
  }
}
