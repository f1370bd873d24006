// Reads the problems a page reports: refused fields with their messages, and alerts.

const TOLD_LIMIT = 500; // characters of one message
const OPTIONS_TOLD = 200;

/**
 * @param elementsJson list of [id, selector] of the screen's elements
 * @returns the HTTP status of the document (0: not known), refused fields and alerts that can be seen
 */
function complaints(elementsJson) {
  const look = newLook();
  const ids = new Map();
  for (const [id, selector] of JSON.parse(elementsJson)) {
    const found = safely(() => resolve(selector, look, false).element);
    if (found && !ids.has(found)) ids.set(found, id);
  }
  const fields = [];
  const alerts = [];
  for (const root of rootsBelow(document)) {
    for (const el of root.querySelectorAll("input, select, textarea, [aria-invalid]")) {
      if (isRefused(el) && (visible(el, look) || labelsOf(el).some((label) => visible(label, look)))) {
        fields.push({ ...refusedField(el, look), element: ids.get(el) || null });
      }
    }
    for (const el of root.querySelectorAll('[role="alert"]')) {
      const text = visible(el, look) ? textOf(el, look) : "";
      if (text) alerts.push(text.slice(0, TOLD_LIMIT));
    }
  }
  const [entry] = performance.getEntriesByType("navigation");
  return { status: (entry && entry.responseStatus) || 0, fields, alerts };
}

/** The page marks it as invalid, or the browser would not submit its form. */
function isRefused(el) {
  if (attr(el, "aria-invalid") === "true") return true;
  return Boolean(el.willValidate && el.form && !el.form.noValidate && !el.validity.valid);
}

/** The texts that the field itself refers to; only the alarming ones if there are such. */
function referredMessages(el, look) {
  const shown = [...namedBy(el, "aria-errormessage"), ...namedBy(el, "aria-describedby")]
    .filter((node) => visible(node, look));
  const alarming = shown.filter((node) => attr(node, "role") === "alert" || hasAttr(node, "aria-live"));
  return (alarming.length ? alarming : shown).map((node) => textOf(node, look)).filter(Boolean);
}

/** The name of a field for people. */
const fieldLabel = (el, look) => labelText(el, look) || attr(el, "name") || describe(el);

function refusedField(el, look) {
  const said = referredMessages(el, look);
  const own = el.validationMessage || "";
  const secret = isSecretField(el);
  return {
    label: fieldLabel(el, look),
    message: squeeze([...new Set([...said, own])].join(" ")).slice(0, TOLD_LIMIT),
    marked: attr(el, "aria-invalid") === "true",
    value: secret ? null : valueOf(el),
    kind: tagOf(el) === "input" ? el.type : tagOf(el),
    required: hasAttr(el, "required") || attr(el, "aria-required") === "true",
    placeholder: attr(el, "placeholder") || "",
    min_length: el.minLength > 0 ? el.minLength : null,
    max_length: el.maxLength > 0 ? el.maxLength : null,
    pattern: attr(el, "pattern") || null,
    options: tagOf(el) === "select"
      ? [...el.options].slice(0, OPTIONS_TOLD).map((o) => ({ value: o.value, label: squeeze(o.label) }))
      : [],
  };
}

function safely(look) {
  try {
    return look();
  } catch {
    return null; // a selector that cannot be parsed leads to no field
  }
}
