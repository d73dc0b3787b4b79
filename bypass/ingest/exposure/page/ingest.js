// The page of an installation: one snapshot a second, drawn as it comes.

import { Chart, WINDOW } from "./chart.js";
import { watch } from "./stream.js";
import { bytes, clock, element, number, parameters, span } from "./text.js";

const STATES = {
  connecting: "connecting",
  live: "live",
  silent: "no answer",
  closed: "shut down",
  gone: "gone",
  refused: "turned away",
};
const STALE = 30; // s without a batch, though messages wait, after which the stream is taken for stopped
const REASONS = 12; // bars that are shown of a kind

const at = (id) => document.getElementById(id);
const rate = (value) => [number(value), "/s"];
const byteRate = (value) => {
  const [figure, unit] = bytes(value);
  return [figure, `${unit}/s`];
};
const charts = {
  received: new Chart("Received", rate),
  measurements: new Chart("Measurements stored", rate),
  lag: new Chart("Lag", (value) => [number(value), "messages"]),
  bytes: new Chart("Written", byteRate),
};
at("charts").prepend(...Object.values(charts).map((chart) => chart.element));

let state = "connecting";
let snapshot = null;
let first = null; // when the first sample was made
let arrived = 0; // when the last snapshot did, on this machine's clock

watch(
  (next) => {
    for (const sample of next.samples ?? []) {
      if (snapshot === null || sample.at > snapshot.at) push(sample);
    }
    if (next.samples === undefined) push({ at: next.at, ...next.rates, lag: next.status.lag_messages });
    snapshot = next;
    arrived = Date.now();
    at("charts-note").textContent = `last ${span(Math.min(WINDOW, snapshot.at - (first ?? snapshot.at)))}`;
    showFacts();
    showTotals();
    showBatches();
    showBars("letters", snapshot.status.dead_letters, "none");
    showBars("refused", snapshot.status.refused, "none");
    const writers = snapshot.writers ?? [];
    const nobody = snapshot.writers === null ? "this log does not count by connector" : "no connector has run yet";
    showBars("writers", Object.fromEntries(writers.map(({ name, logged }) => [name, logged])), nobody);
    showBars("policies", snapshot.status.policies, "no devices");
    showPlans();
    showAlert();
  },
  (next) => {
    state = next;
    document.body.dataset.state = state;
    at("state-text").textContent = STATES[state];
    document.title = state === "live" ? "bypass ingestion" : `${STATES[state]} – bypass ingestion`;
    showAlert();
  },
);
setInterval(showAlert, 1000);

function push(sample) {
  first ??= sample.at;
  for (const [name, chart] of Object.entries(charts)) chart.push(sample.at, sample[name], []);
}

// -- what an installation says -----------------------------------------------------------------------------

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

function showFacts() {
  const { folder, version, started, at: now, subscribers, latency } = snapshot;
  const facts = [
    ["folder", folder],
    ["watched for", span(now - started)],
    ["subscribers", number(subscribers)],
  ];
  if (latency.count > 0) facts.push(["stored within", `${time(latency.p50)}, 99 % ${time(latency.p99)}`]);
  facts.push(["version", version]);
  at("facts").replaceChildren(...facts.map(([name, value]) => element("div", "", element("dt", "", name), element("dd", "", value))));
}

function time(seconds) {
  if (seconds === null) return "over 10 s";
  return seconds < 1 ? `${number(1000 * seconds)} ms` : `${number(seconds)} s`;
}

function showTotals() {
  const { status } = snapshot;
  const [size, unit] = bytes(status.bytes);
  const letters = sum(status.dead_letters);
  const refused = sum(status.refused);
  const tiles = [
    ["Received", status.received, "messages", ""],
    ["Stored", status.stored, share(status.stored), ""],
    ["Filtered", status.filtered, "by policies", ""],
    ["Duplicates", status.duplicates, "recognised", ""],
    ["Dead letters", letters, share(letters), letters > 0 ? "bad" : ""],
    ["Refused", refused, share(refused), refused > 0 ? "bad" : ""],
    ["Lag", status.lag_messages, status.lag_messages > 0 ? `latest batch ${span(status.lag_s)} ago` : "nothing waits", ""],
    ["Measurements", status.measurements, `${size} ${unit} written`, ""],
  ];
  at("totals").replaceChildren(
    ...tiles.map(([title, count, note, classes]) =>
      element("article", `tile ${classes}`.trim(), element("h2", "", title), element("strong", "", number(count)), element("small", "", note)),
    ),
  );
}

function share(count) {
  const { received } = snapshot.status;
  return received > 0 ? `${((100 * count) / received).toFixed(1)} %` : "";
}

function showBatches() {
  const { batches, at: now } = snapshot;
  at("no-batches").hidden = batches.length > 0;
  at("batches").querySelector("table").hidden = batches.length === 0;
  at("batch-rows").replaceChildren(
    ...batches.map((batch) => {
      const left = [
        [batch.filtered, "filtered"],
        [batch.duplicates, "duplicates"],
        [batch.dead_letters, "dead letters"],
      ].filter(([count]) => count > 0);
      return element(
        "tr",
        "",
        cell("Batch", "number", number(batch.batch)),
        cell("When", "", `${clock(batch.at)} `, element("small", "", `${span(now - batch.at)} ago`)),
        cell("Took", "number", batch.seconds < 10 ? `${batch.seconds.toFixed(2)} s` : span(batch.seconds)),
        cell("Messages", "number", number(batch.read)),
        cell("Measurements", "number", number(batch.measurements)),
        cell("Written", "number", bytes(batch.bytes).join(" ")),
        cell("Left out", "", left.length > 0 ? left.map(([count, name]) => `${number(count)} ${name}`).join(", ") : "–"),
      );
    }),
  );
}

function cell(label, classes, ...children) {
  const made = element("td", classes, ...children);
  made.dataset.label = label; // names the value where rows are shown as cards
  return made;
}

function showBars(id, counts, none) {
  const sorted = Object.entries(counts).sort(([, one], [, other]) => other - one);
  const most = Math.max(...sorted.map(([, count]) => count), 1);
  const bars = sorted.slice(0, REASONS).map(([name, count]) => {
    const bar = element("span", "bar", element("span"), element("i"));
    bar.setAttribute("aria-hidden", "true");
    bar.firstChild.style.flexGrow = count / most;
    bar.lastChild.style.flexGrow = 1 - count / most;
    return element("li", "", element("bdi", "", name), element("strong", "", number(count)), bar);
  });
  const more = sorted.length - REASONS;
  if (more > 0) bars.push(element("li", "", element("small", "", `and ${number(more)} more`)));
  at(id).replaceChildren(...(bars.length > 0 ? bars : [element("li", "none", none)]));
}

function showPlans() {
  const plans = snapshot.plans.map(({ number: id, plan, actions }) =>
    element("li", "", element("strong", "", `${number(id)} `), element("bdi", "", plan), ...actions.map((action) => element("small", "", change(action)))),
  );
  at("plans").replaceChildren(...(plans.length > 0 ? plans : [element("li", "none", "none")]));
}

function change({ proxy, to, set, members }) {
  const values = parameters(set);
  const whom = members === null ? "" : `, ${number(members)} devices`;
  return `${proxy}${to === null ? "" : ` → ${to}`}${values ? ` (${values})` : ""}${whom}`;
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
      return "The server does not answer: its process is there, but it is stuck.";
    case "closed":
      return "The server was shut down. Waiting for it to come back.";
    case "gone":
      return "The server is gone. Trying to reach it again.";
    case "refused":
      return "The server turned this page away. Trying again.";
    default: {
      const lag = snapshot?.status;
      return lag && lag.lag_messages > 0 && lag.lag_s > STALE ? `The stream has stored nothing for ${span(lag.lag_s)}, and ${number(lag.lag_messages)} messages wait.` : "";
    }
  }
}
