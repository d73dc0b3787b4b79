// The stream of snapshots, and what is known of the broker while none come.

const SILENCE = 5000; // ms without a snapshot after which the broker's loop is taken for stuck
const AGAIN = 5000; // ms until the next try after being turned away

// Calls onSnapshot(snapshot) for each, and onState(state) when it changes:
// connecting, live, silent (connected, but no snapshots), closed (shut down), gone, refused (turned away).
export function watch(onSnapshot, onState) {
  let state = "connecting";
  let last = 0;

  function become(next) {
    if (next === state) return;
    state = next;
    onState(state);
  }

  function open() {
    const source = new EventSource("events");
    source.addEventListener("message", (message) => {
      last = performance.now();
      onSnapshot(JSON.parse(message.data));
      become("live");
    });
    source.addEventListener("bye", () => become("closed"));
    source.addEventListener("error", () => {
      if (source.readyState === EventSource.CLOSED) {
        become("refused");
        setTimeout(open, AGAIN);
      } else if (state !== "closed") {
        become("gone");
      }
    });
  }

  setInterval(() => {
    if (state === "live" && performance.now() - last > SILENCE) become("silent");
  }, 500);
  open();
}
