// Counts the seconds of the current code down, and fetches the next one when they are over.

const code = document.getElementById("current-code");
let left = Number(code.dataset.secondsLeft);

function show() {
  code.dataset.secondsLeft = String(left);
  document.getElementById("ring-text").textContent = String(left);
  document.getElementById("ring-left").setAttribute("stroke-dasharray", `${left} 30`);
}

async function tick() {
  left -= 1;
  if (left < 1) {
    const answer = await fetch("/authenticator/code", { headers: { accept: "application/json" } });
    const now = await answer.json();
    code.textContent = now.code;
    left = now.seconds_left;
  }
  show();
}

setInterval(tick, 1000);
