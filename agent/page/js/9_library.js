// The functions that Python calls. Each takes and returns a JSON string (or a promise of one).

const json = (value) => JSON.stringify(value);

const library = Object.freeze({
  record: ownRecord,
  take,
  guard: guardEvent,
  focus(token) {
    const el = take(token);
    if (!el || !el.isConnected) return json(false);
    el.focus();
    return json(true);
  },
  prepareTyping: (token) => json(prepareTyping(token)),
  choose: async (token, wantedJson, timeoutMs) => json(await choose(take(token), JSON.parse(wantedJson), timeoutMs)),
  widgetOption: async (token, wanted, timeoutMs) => json(await widgetOption(take(token), wanted, timeoutMs)),
  widgetChose: async (token, wanted, timeoutMs) => json(await widgetChose(take(token), wanted, timeoutMs)),
  outcome: async (token, wanted, timeoutMs, text = "") => json(await outcome(token, wanted, timeoutMs, text)),
  selectTyped: () => json(selectTyped()),
  commitTyped: (text) => json(commitTyped(text)),
  pasteTyped: async (text) => json(await pasteText(typedLast, text)),
  lowerGuard(token) {
    lowerGuard(token);
    return json(true);
  },
  answer(probesJson, secretsJson = null, unless = null) {
    const look = newLook();
    const now = revision();
    const said = { ...pageFacts(), revision: now, answers: JSON.parse(probesJson).map((probe) => answerProbe(probe, look)) };
    if (secretsJson !== null && (now === null || now !== unless)) said.html = snapshotHtml(JSON.parse(secretsJson));
    return json(said);
  },
  linesNaming: (askedJson) => json(linesNaming(JSON.parse(askedJson))),
  whyUnsure: (askedJson) => json(whyUnsure(JSON.parse(askedJson)) ?? ""),
  recordTexts: (typedJson) => json(recordTexts(JSON.parse(typedJson))),
  soughtTexts: (soughtJson) => json(soughtTexts(JSON.parse(soughtJson))),
  rememberStanding(soughtJson) {
    rememberStanding(JSON.parse(soughtJson));
    return json(true);
  },
  afterTimers: async (most) => json(await afterTimers(most)),
  closedRoot: (el) => closedRoots.get(el) || null,
  passed: (probesJson) => json(passed(JSON.parse(probesJson))),
  resolve(selectorJson) {
    const look = newLook();
    const result = resolve(JSON.parse(selectorJson), look, false);
    const el = result.element || result.found[0] || null;
    return json({
      count: result.found.length,
      visible: result.found.filter((found) => visible(found, look)).length,
      resolved: result.element !== null,
      strategy: result.strategy,
      error: result.error,
      described: el ? describe(el) : null,
      role: el ? roleOf(el) : null,
      name: el ? nameOf(el, look) : null,
      tried: result.tried.map((t) => ({ type: t.type, count: t.found.length, visible: t.visible.length, error: t.error })),
    });
  },
  gate: async (selectorJson, policyJson) => json(await gate(JSON.parse(selectorJson), JSON.parse(policyJson))),
  snapshot(secretsJson, token = null, unless = null) {
    const now = revision();
    if (unless !== null && now === unless) return json({ revision: now, same: true });
    return json({ ...pageFacts(), revision: now, html: snapshotHtml(JSON.parse(secretsJson), looks.get(token)) });
  },
  pressPlace: (token, placeJson) => json(pressPlace(token, JSON.parse(placeJson))),
  dragPlaces: (token, dropJson) => json(dragPlaces(token, JSON.parse(dropJson))),
  slidTo: async (el) => json(await slidTo(el)),
  afterDrawing: async () => json(await afterDrawing()),
  revision: () => json({ revision: revision() }),
  coverRules: (selectorJson) => json(coverRules(JSON.parse(selectorJson))),
  lookAt: (el) => json(remember([el])),
  index(optionsJson) {
    const { everything, question, rows, values } = JSON.parse(optionsJson);
    return json(pageIndex(everything, question, rows, values));
  },
  cards: (token, positionsJson) => json(cardsOf(token, JSON.parse(positionsJson))),
  standings: (token, selectorsJson) => json(standings(token, JSON.parse(selectorsJson))),
  read: (askedJson) => json({ ...pageFacts(), ...read(JSON.parse(askedJson)) }),
  pick,
  lookFrom: (el, everything) => json(lookFrom(el, everything)),
  pointingSpot: (selectorJson) => json(pointingSpot(JSON.parse(selectorJson))),
  revealPart: async (n) => json(await revealPart(n)),
  recordOfControl: (el) => json(recordOfControl(el)),
  leadsTo: (token, pairsJson) => json(leadsTo(token, JSON.parse(pairsJson))),
  complaints: (elementsJson) => json(complaints(elementsJson)),
  refusalSigns: () => json(refusalSigns()),
  workSigns: () => json(workSigns()),
  personChecks: () => json(personChecks(newLook())),
  items: (selectorJson) => json(items(selectorJson)),
  text(selectorJson) {
    const look = newLook();
    const selector = JSON.parse(selectorJson);
    if (selector === null) return json(rootsBelow(document).map((root) => textOf(root, look)).filter(Boolean).join("\n"));
    const { element } = resolve(selector, look, false);
    return json(element ? textOf(element, look) : null);
  },
  elementText: (el) => json(textOf(el, newLook())),
  caretToEnd,
  selectInEditor: async (el) => json(await selectInEditor(el)),
  hideFields: (isSecret) => {
    isAlsoSecret = isSecret;
  },
  fieldNames: (el) => json(fieldNames(el)),
  namesOf: (selectorJson) => json(namesOf(JSON.parse(selectorJson))),
  pressSurroundings: (selectorJson, byEnter) => json(pressSurroundings(JSON.parse(selectorJson), byEnter)),
  focusedNames: () => json(focusedNames()),
  holdSecret: (el) => json(holdSecret(el)),
  secretField: (el, replace) => json(secretField(el, replace)),
  insertText: (el, text) => json(insertText(el, text)),
  typeKey: (el, key) => json(typeKey(el, key)),
  shownText: (el, text) => json(fieldText(el, text)),
  pasteText: async (el, text) => json(await pasteText(el, text)),
  commit(el, text = "") {
    commit(el);
    return json(fieldText(el, text));
  },
  ticked: async (el, wanted, timeoutMs) => json(await ticked(el, wanted, nativeNow() + timeoutMs)),
  scroll,
  kind: (el) => json({ tag: tagOf(el), type: tagOf(el) === "input" ? el.type : null, editable: editingHost(el), picker: hasPicker(el) }),
  arm: (triggerJson) => json(arm(JSON.parse(triggerJson))),
  wait: async (token, timeoutMs) => json(await waitFor(token, timeoutMs)),
  disarm(token) {
    const entry = armed.get(token);
    if (entry) entry.stop();
    armed.delete(token);
    return json(null);
  },
});

function isCaretAtEnd(el) {
  const selection = el.ownerDocument.getSelection();
  if (!selection.isCollapsed || !selection.anchorNode || !el.contains(selection.anchorNode)) return false;
  const rest = el.ownerDocument.createRange();
  rest.selectNodeContents(el);
  rest.setStart(selection.anchorNode, selection.anchorOffset);
  return !rest.toString().trim();
}

/** Move the caret to the end; false if the field does not allow that to scripts. */
function caretToEnd(el) {
  el.focus();
  try {
    if (editingHost(el)) {
      if (isCaretAtEnd(el)) return json(true); // to move it there would end a mark that was just turned on
      getSelection().selectAllChildren(el);
      getSelection().collapseToEnd();
    } else el.setSelectionRange(el.value.length, el.value.length);
    return json(true);
  } catch {
    return json(false); // email and number fields
  }
}

/**
 * Dispatch the change event of a text field now, which the browser would do on blur; the
 * browser's own event for the same text is then suppressed, so that the page gets it once.
 */
function commit(el) {
  const tag = tagOf(el);
  if (tag !== "textarea" && !(tag === "input" && TEXT_INPUTS.has(el.type))) return;
  const text = el.value;
  const view = el.ownerDocument.defaultView;
  const keepBack = (event) => {
    if (!event.isTrusted || event.composedPath()[0] !== el) return;
    view.removeEventListener("change", keepBack, true);
    if (el.value === text) event.stopImmediatePropagation();
  };
  el.dispatchEvent(new Event("change", { bubbles: true }));
  view.addEventListener("change", keepBack, true);
}

/** Whether a checkbox reached the wanted state; also true if the page has replaced it. */
async function ticked(el, wanted, deadline) {
  while (el.isConnected && valueOf(el) !== String(wanted)) {
    if (nativeNow() >= deadline) return false;
    await nextFrame();
  }
  return true;
}

const TEXT_INPUTS = new Set(["text", "search", "url", "tel", "email", "password", "number"]);

/** Scroll an element or the page: `up`, `down` (most of a screenful), `top`, `bottom`, or pixels. */
function scroll(el, how) {
  const area = el || document.scrollingElement || document.documentElement;
  const page = area.clientHeight * 0.8;
  const by = { up: -page, down: page, top: -area.scrollHeight, bottom: area.scrollHeight }[how];
  area.scrollBy({ top: by === undefined ? Number(how) : by, behavior: "instant" });
  return json(area.scrollTop);
}

function pageFacts() {
  return {
    url: document.URL,
    title: document.title,
    ready_state: document.readyState,
    viewport: { width: Math.max(1, window.innerWidth), height: Math.max(1, window.innerHeight) },
  };
}

Object.defineProperty(window, KEY, { value: library, enumerable: false, writable: false, configurable: false });
ownRecord(document);
