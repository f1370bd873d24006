// Lets the key figures move as if calls came in. The same steps on every visit.

const STEP_MS = 2500;
const CALLS = [1, 2, 0, 3, 1, 1, 2, 0, 1, 4];
const SECONDS = [252, 251, 251, 253, 252, 250, 252];
const RATES = [94.2, 94.2, 94.3, 94.2, 94.1, 94.2];

const figure = (name) => document.querySelector(`[data-live="${name}"]`);
let total = 12847;
let step = 0;

function tick() {
  total += CALLS[step % CALLS.length];
  const seconds = SECONDS[step % SECONDS.length];
  figure("total-calls").textContent = total.toLocaleString("en-US");
  figure("handle-time").textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  figure("resolution-rate").textContent = `${RATES[step % RATES.length].toFixed(1)}%`;
  step += 1;
}

if (!window.matchMedia("(prefers-reduced-motion: reduce)").matches) setInterval(tick, STEP_MS);
