import { Editor } from "@tiptap/core";
import StarterKit from "@tiptap/starter-kit";
import { start } from "./start.js";

const editor = (root, keep) => {
  root.innerHTML = `<button id="bold" type="button">Bold</button><button id="list" type="button">List</button><div id="text" style="border: 1px solid; min-height: 80px"></div>`;
  const made = new Editor({ element: document.getElementById("text"), extensions: [StarterKit], onUpdate: () => keep("html", made.getHTML()) });
  keep("html", made.getHTML());
  document.getElementById("bold").onclick = () => made.chain().focus().toggleBold().run();
  document.getElementById("list").onclick = () => made.chain().focus().toggleBulletList().run();
};

start({ write: editor, bold: editor, list: editor, bold_keys: editor });
