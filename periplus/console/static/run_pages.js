// Shows a stored page when its part is opened. Hundreds of frames, even empty ones, would hold up the page of a long run.
// Without this script the frames are in the document.
for (const part of document.querySelectorAll("details[data-frame]")) {
  part.addEventListener("toggle", () => {
    if (!part.open || part.querySelector("iframe")) return;
    const words = part.querySelector("summary").textContent;
    const frame = document.createElement("iframe");
    frame.className = "page";
    frame.title = `${words}, without its scripts, pictures and styles from elsewhere`;
    frame.setAttribute("sandbox", "");
    frame.referrerPolicy = "no-referrer";
    frame.src = part.dataset.frame;
    part.querySelector("summary").after(frame);
  });
}
