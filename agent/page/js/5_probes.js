// Answers to kb_schema probes. For stored pages: web_pages/probe_answers.py.

const nothing = () => ({ present: 0, visible: 0, enabled: null, value: null, text: null, error: null });
const TEXT_LIMIT = 2000; // characters of an element's text in an answer: evidence, not content

function answerProbe(probe, look) {
  try {
    if (probe.kind === "text") return answerText(probe, look);
    if (probe.kind === "element") return answerElement(probe, look);
    return answerForm(look);
  } catch (problem) {
    return { ...nothing(), error: String(problem.message || problem) };
  }
}

function answerText(probe, look) {
  const wanted = squeeze(probe.value);
  const says = (text) => textMatches(text, wanted, probe.match);
  const roots = rootsBelow(document);
  const answer = nothing();
  if (probe.css === null || probe.css === undefined) {
    for (const root of roots) {
      const seen = rootVisible(root, look) && says(textOf(root, look));
      answer.visible += Number(seen);
      answer.present += Number(seen || says(textOf(root, null)));
    }
    return answer;
  }
  let first = null;
  for (const el of roots.flatMap((root) => queryCss(root, probe.css))) {
    const text = visible(el, look) ? textOf(el, look) : null;
    const seen = text !== null && says(text);
    answer.visible += Number(seen);
    answer.present += Number(seen || says(textOf(el, null)));
    if (seen && first === null) first = text;
  }
  answer.text = first === null ? null : first.slice(0, TEXT_LIMIT);
  return answer;
}

/** How texts are compared; for stored pages: `matches` in web_pages/page_texts.py. */
function textMatches(text, wanted, match) {
  if (match === "whole") return squeeze(text) === wanted;
  if (wanted === "") return text !== "";
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + 1)) {
    const inNumber = /[\d.,]$/.test(text.slice(0, at)) || /^(?:\d|[.,]\d)/.test(text.slice(at + wanted.length));
    if (match !== "number" || !inNumber) return true;
  }
  return false;
}

/** A document in a hidden frame or below a hidden host is not visible. */
function rootVisible(root, look) {
  const frame = root.nodeType === 9 && root.defaultView !== window ? root.defaultView.frameElement : null;
  return frame ? visible(frame, look) : true;
}

function answerElement(probe, look) {
  const result = resolve(probe.selector, look, true);
  const answer = nothing();
  answer.error = result.error;
  const seen = result.found.filter((el) => visible(el, look));
  answer.present = result.found.length;
  answer.visible = seen.length;
  const first = seen[0] || result.found[0];
  if (first) {
    answer.enabled = disabledBy(first) === null;
    answer.value = valueOf(first);
    answer.text = textOf(first, visible(first, look) ? look : null).slice(0, TEXT_LIMIT);
  }
  return answer;
}

function answerForm(look) {
  const answer = nothing();
  for (const root of rootsBelow(document)) {
    for (const el of root.querySelectorAll("*")) {
      if (!isFormField(el) || !visible(el, look) || disabledBy(el) !== null) continue;
      answer.present += 1;
      answer.visible += Number(isInvalid(el));
    }
  }
  return answer;
}

const isFormField = (el) =>
  tagOf(el) === "select" || tagOf(el) === "textarea" || editingHost(el) || TOGGLE_ROLES.has(attr(el, "role")) ||
  hasAttr(el, "aria-invalid") || (tagOf(el) === "input" && !INPUT_BUTTONS.has(el.type) && el.type !== "image");

function isInvalid(el) {
  if (attr(el, "aria-invalid") === "true") return true;
  if (!hasAttr(el, "required") && attr(el, "aria-required") !== "true") return false;
  const value = tagOf(el) === "input" && el.type === "radio" ? String(groupTicked(el)) : valueOf(el);
  return value === "" || value === "false";
}

function groupTicked(radio) {
  const name = attr(radio, "name");
  const root = radio.form || radio.getRootNode();
  const group = name ? [...root.querySelectorAll(`input[type=radio][name=${quoted(name)}]`)] : [radio];
  return group.some((other) => other.checked && (other.form || null) === (radio.form || null));
}
