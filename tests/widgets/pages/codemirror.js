import { javascript } from "@codemirror/lang-javascript";
import { basicSetup, EditorView } from "codemirror";
import { start } from "./start.js";

const editor = (root, keep) => {
  keep("text", "let a = 1;");
  new EditorView({ doc: "let a = 1;", parent: root, extensions: [basicSetup, javascript(), EditorView.updateListener.of((update) => update.docChanged && keep("text", update.state.doc.toString()))] });
};

start({ write: editor, replace: editor });
