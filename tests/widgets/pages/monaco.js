import * as monaco from "monaco-editor/esm/vs/editor/editor.api";
import "monaco-editor/esm/vs/editor/contrib/find/browser/findController";
import { start } from "./start.js";

const editor = (root, keep) => {
  root.style.cssText = "width: 600px; height: 200px";
  const made = monaco.editor.create(root, { value: "let a = 1;", language: "plaintext", minimap: { enabled: false }, ariaLabel: "Code" });
  keep("text", made.getValue());
  made.onDidChangeModelContent(() => keep("text", made.getValue()));
};

start({ write: editor, replace: editor });
