import Quill from "quill";
import "quill/dist/quill.snow.css";
import { start } from "./start.js";

const editor = (root, keep) => {
  root.innerHTML = `<div id="text"></div>`;
  const made = new Quill("#text", { theme: "snow" });
  const tell = () => { keep("text", made.getText()); keep("html", made.root.innerHTML); };
  tell();
  made.on("text-change", tell);
};

start({ write: editor, bold: editor, list: editor });
