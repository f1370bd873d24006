// Whether a field holds a secret, by its names in any language: as kb_schema/secret_fields.py decides, with its lists.
// An expression: `demonstration_recorder.js` gets it with the lists and the names that the person marked.
((rule, marked) => {
  const UNTYPED = new Set(["button", "submit", "reset", "image", "checkbox", "radio", "file", "hidden", "color", "range", "date", "time", "month", "week", "datetime-local"]);
  const [words, plain, alone] = [rule.words, rule.plain, rule.alone].map((each) => new Set(each));
  const named = new Set(marked.map((name) => fold(name)));
  const known = new WeakMap(); // field -> its names, and what they say

  function fold(text) {
    return text.normalize("NFKD").replace(/\p{M}/gu, "").replace(/\s+/g, " ").trim().toLowerCase();
  }

  function split(text) {
    const letters = text.normalize("NFKD").replace(/\p{M}/gu, "");
    const apart = letters.replace(/(?<=[a-zа-я0-9])(?=[A-ZА-Я])|(?<=[A-Z])(?=[A-Z][a-z])/g, " ");
    return (apart.match(/[\p{L}\p{N}]+/gu) || []).flatMap((each) => each.match(/[^\d]+/g) || []).map((each) => each.toLowerCase().replace(/\u0131/g, "i"));
  }

  function isSecretName(text) {
    const said = split(text);
    const joined = said.join("");
    if (alone.has(joined)) return true;
    if (said.some((each) => plain.has(each))) return false;
    const ends = (word) => rule.endings.some((end) => word.endsWith(end)) && !rule.noEndings.some((end) => word.endsWith(end));
    return rule.parts.some((part) => joined.includes(part)) || said.some((each) => words.has(each) || ends(each));
  }

  function namesOf(el) {
    const labels = [...(el.labels || [])].map((label) => label.textContent);
    const referred = (el.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean)
      .map((id) => el.getRootNode().getElementById?.(id)?.textContent);
    const given = ["name", "id", "aria-label", "placeholder", "title"].map((name) => el.getAttribute(name));
    return [...given, ...labels, ...referred].filter(Boolean).map((text) => text.slice(0, 200));
  }

  return (el) => {
    if (el.localName !== "input" && el.localName !== "textarea") return false;
    if (el.localName === "input" && UNTYPED.has(el.type)) return false;
    const autocomplete = (el.getAttribute("autocomplete") || "").toLowerCase().split(/\s+/);
    if (autocomplete.some((each) => rule.autocomplete.includes(each))) return true;
    const names = namesOf(el);
    const key = names.join("\n");
    const before = known.get(el);
    if (before && before.key === key) return before.secret;
    const secret = (before && before.secret) || names.some((name) => named.has(fold(name)) || isSecretName(name));
    known.set(el, { key, secret });
    return secret;
  };
})
