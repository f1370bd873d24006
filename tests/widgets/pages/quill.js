import Quill from "quill";
import "quill/dist/quill.snow.css";
import { start } from "./start.js";

const editor = (root, keep) => {
  root.innerHTML = `<div id="text"></div>`;
  const made = new Quill("#text", { theme: "snow" });
  made.on("text-change", () => { keep("text", made.getText()); keep("html", made.root.innerHTML); });
};

start({ write: editor, bold: editor, list: editor });
