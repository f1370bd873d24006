// What elements of a look say beside what the look says itself: addresses as the browser resolves them, the form
// they belong to, what they accept. Prototypes are used where a form's own fields could hide its properties.

([token, places]) => {
  const library = window[Symbol.for("periplus.page.1")];
  const MOST_OPTIONS = 100;
  const LONGEST = 8000;
  const short = (text) => String(text ?? "").slice(0, LONGEST);

  const resolved = (el, given) => {
    try {
      return short(new URL(given, el.baseURI).href);
    } catch {
      return short(given);
    }
  };

  const addressOf = (el) => {
    const link = el.closest("a, area");
    if (!link) return null;
    const given = link.getAttribute("href") ?? link.getAttribute("xlink:href");
    if (given === null) return null;
    return /^\s*#(?!!?\/)/.test(given) ? short(given).trim() : resolved(link, given); // a spot of this page is no address
  };

  const submits = (el) => {
    const type = (el.getAttribute("type") || "").toLowerCase();
    if (el.localName === "button") return !["button", "reset"].includes(type);
    return el.localName === "input" && ["submit", "image"].includes(type);
  };

  const formFacts = (el) => {
    const form = el.form?.nodeType === 1 ? el.form : el.closest("form");
    if (!form) return null;
    const button = submits(el) ? el : null;
    const method = (button && button.getAttribute("formmethod")) || form.getAttribute("method") || "get";
    const action = (button && button.getAttribute("formaction")) || form.getAttribute("action") || document.URL;
    const fields = [...form.querySelectorAll("input, select, textarea")];
    const override = fields.find((field) => field.getAttribute("name") === "_method");
    const hasType = (type) => fields.some((field) => (field.getAttribute("type") || "").toLowerCase() === type);
    return {
      method: short(method).toLowerCase(),
      override: override ? short(override.getAttribute("value")).toLowerCase() : "",
      action: resolved(form, action),
      password: hasType("password"),
      file: hasType("file"),
      fields: fields.filter((field) => (field.getAttribute("type") || "").toLowerCase() !== "hidden").length,
      names: fields.map((field) => short(field.getAttribute("name")).slice(0, 200)).filter(Boolean).slice(0, 60),
      number: [...document.forms].indexOf(form),
    };
  };

  const whole = (text) => (/^\d{1,9}$/.test(text || "") ? Number(text) : null);
  const number = (text) => (text && Number.isFinite(Number(text)) ? Number(text) : null);

  const MOST_MARKS = 60;
  const marksOf = (el) => {
    const marks = {};
    for (const name of el.getAttributeNames().slice(0, MOST_MARKS)) {
      if (name !== "value" && !name.startsWith("data-pp-")) marks[name.slice(0, 100)] = short(el.getAttribute(name)).slice(0, 500);
    }
    return marks;
  };

  const optionsOf = (el) => {
    if (el.localName !== "select") return [];
    return [...el.options].slice(0, MOST_OPTIONS).map((option) => [short(option.value).slice(0, 500), short(option.text).trim().slice(0, 500)]);
  };

  const expanded = (el) => {
    const said = el.getAttribute("aria-expanded");
    if (said !== null || el.localName !== "summary" || !el.parentElement) return said;
    return String(el.parentElement.hasAttribute("open"));
  };

  // A link that no person can see is none: such are laid for robots. One that shows itself when a hand is over it, or
  // where it slides in from the edge, is.
  const FAR = 500;
  const SMALL = 1.5;
  const MOST_RULES = 20_000;
  let revealing = null;
  const revealed = () => {
    if (revealing !== null) return revealing;
    revealing = [];
    let read = 0;
    const gather = (rules) => {
      for (const rule of rules) {
        if ((read += 1) > MOST_RULES) return;
        if (rule.selectorText && rule.style?.opacity && /:(?:hover|focus)/.test(rule.selectorText)) revealing.push(rule.selectorText);
        if (rule.cssRules?.length) gather(rule.cssRules);
      }
    };
    for (const sheet of document.styleSheets) {
      try {
        gather(sheet.cssRules);
      } catch {
        revealing.push("* :hover"); // of another origin: it cannot be read, and may reveal anything
      }
    }
    revealing = revealing.map((selector) => selector.replace(/:(?:hover|focus-within|focus-visible|focus)/g, ""));
    return revealing;
  };

  const matches = (el, selector) => {
    try {
      return selector.trim() === "*" || el.matches(selector);
    } catch {
      return false;
    }
  };

  const hides = (el) => {
    const style = getComputedStyle(el);
    if (Number(style.opacity) >= 0.05 || style.animationName !== "none") return false;
    const fades = /\b(?:all|opacity)\b/.test(style.transitionProperty) && /[1-9]/.test(style.transitionDuration);
    return !fades && !revealed().some((selector) => matches(el, selector));
  };

  const faint = new Map(); // what was found of the elements around others
  const isFaint = (el) => {
    const way = [];
    let at = el;
    for (; at && !faint.has(at); at = at.parentElement) way.push(at);
    let found = at ? faint.get(at) : false;
    for (const each of way.reverse()) {
      found = found || hides(each);
      faint.set(each, found);
    }
    return found;
  };

  const isSmall = ({ width, height }) => width <= SMALL || height <= SMALL;
  const isTiny = (el) => {
    if (!isSmall(el.getBoundingClientRect())) return false;
    if ([...el.querySelectorAll("*")].slice(0, 50).some((inner) => !isSmall(inner.getBoundingClientRect()))) return false;
    return ["::before", "::after"].every((part) => getComputedStyle(el, part).position !== "absolute");
  };

  const isFarOff = (el) => {
    const box = el.getBoundingClientRect();
    const { scrollX, scrollY } = window;
    const root = document.documentElement;
    return (
      box.right + scrollX < -FAR ||
      box.bottom + scrollY < -FAR ||
      box.left + scrollX > Math.max(root.scrollWidth, innerWidth) + FAR ||
      box.top + scrollY > Math.max(root.scrollHeight, innerHeight) + FAR
    );
  };

  // A form's fields hide its properties of their names.
  const read = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
  const [children, parent] = [read(Element.prototype, "children"), read(Node.prototype, "parentElement")];
  const childrenOf = (el) => [...children.call(el)];
  const parentOf = (el) => parent.call(el);
  const classesOf = (el) => (Element.prototype.getAttribute.call(el, "class") ?? "").split(/\s+/).filter(Boolean);

  // A control of a set is chosen if its class says so and that of others does not: tabs and menus without ARIA.
  const CHOSEN = /(?:^|[-_])(?:active|selected|current)$/i;
  const saysChosen = (el) => classesOf(el).some((name) => CHOSEN.test(name));
  const isChosen = (el) => {
    const at = parentOf(el)?.localName === "li" && !saysChosen(el) ? parentOf(el) : el;
    if (!parentOf(at) || !saysChosen(at)) return false;
    const beside = childrenOf(parentOf(at)).filter((other) => other !== at && other.localName === at.localName);
    return beside.length > 0 && !beside.every(saysChosen);
  };

  // Rows that are no rows by their markup: clickable siblings of one class with several texts each.
  const LEAST_ITEMS = 4;
  const DEEPEST_ITEM = 6;
  const VARYING = /^(?:is-|has-)?(?:active|selected|current|checked|open|expanded|disabled|read|unread|new|even|odd)$|\d/i;
  const listed = new Map(); // parent -> kind -> its children of this kind
  const lists = new Map();
  const kindOf = (el) => [el.localName, ...classesOf(el).filter((name) => !VARYING.test(name)).sort()].join(".");
  const kindsIn = (el) => {
    if (!listed.has(el)) listed.set(el, Map.groupBy(childrenOf(el), kindOf));
    return listed.get(el);
  };
  const hasParts = (el) => {
    const texts = document.createTreeWalker(el, NodeFilter.SHOW_TEXT);
    let found = 0;
    while (found < 2 && texts.nextNode()) found += /\p{L}{3}/u.test(texts.currentNode.data) ? 1 : 0;
    return found > 1;
  };

  // Controls that developers number by the thing they belong to (`data-testid="edit-label-12"`) are in rows, one in each.
  const LEAST_NUMBERED = 3;
  const RECORD = /(?:^|[-_])(?:id|uid|pk|key)$/;
  const MENU_ROLES = new Set(["tab", "menuitem", "menuitemradio", "menuitemcheckbox", "option", "switch", "radio", "checkbox"]);
  const addTo = (found, key, el) => (found.has(key) ? found.get(key).push(el) : found.set(key, [el]));
  const numberOf = (el, name) => Element.prototype.getAttribute.call(el, name);
  const isTold = (group, name) => group.length >= LEAST_NUMBERED && new Set(group.map((el) => numberOf(el, name))).size === group.length;
  const findNumbered = (all) => {
    const kinds = new Map();
    for (const el of all) {
      if (!el || ["input", "select", "textarea", "option"].includes(el.localName) || MENU_ROLES.has(el.getAttribute("role"))) continue;
      const told = el.getAttributeNames().filter((name) => /^data-(?!pp-)/.test(name) && /^\S{1,80}$/.test(numberOf(el, name)));
      const masked = told.map((name) => [name, /\d/.test(numberOf(el, name)) && RECORD.test(name) ? "" : numberOf(el, name).replace(/\d+/g, "0")]);
      for (const name of told.slice(0, MOST_MARKS)) {
        const value = numberOf(el, name);
        // `data-index="2"` counts places
        if (/\d/.test(value) && (RECORD.test(name) || /[a-z]/i.test(value))) addTo(kinds, JSON.stringify([name, el.localName, classesOf(el)[0], masked]), el);
      }
    }
    const numbered = new Map();
    let count = 0;
    for (const [key, kin] of kinds) {
      const [name] = JSON.parse(key);
      const named = new Map();
      kin.forEach((el) => addTo(named, el.textContent.replace(/\s+/g, " ").trim(), el)); // a row has several: `Edit`, `Delete`
      for (const group of isTold(kin, name) ? [kin] : named.values()) {
        if (!isTold(group, name)) continue;
        count += 1;
        group.forEach((el, at) => numbered.has(el) || numbered.set(el, [-count, at, 1]));
      }
    }
    return numbered;
  };
  const itemOf = (el) => {
    for (let at = el, deep = 0; parentOf(at) && deep < DEEPEST_ITEM; at = parentOf(at), deep += 1) {
      const kin = kindsIn(parentOf(at)).get(kindOf(at));
      if (kin.length >= LEAST_ITEMS && hasParts(at) && getComputedStyle(at).cursor === "pointer") {
        if (!lists.has(kin)) lists.set(kin, lists.size);
        return [lists.get(kin), kin.indexOf(at), at === el ? 1 : 0];
      }
    }
    return null;
  };

  // What lies over most of what can be used is a dialog, whatever its role.
  const isPositioned = (el) => {
    const { position, zIndex } = getComputedStyle(el);
    return position === "fixed" || (position === "absolute" && Number(zIndex) > 0);
  };
  const coverOf = (el) => {
    const box = el.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    if (!box.width || !box.height || x < 0 || y < 0 || x >= innerWidth || y >= innerHeight) return null;
    const hit = el.getRootNode().elementFromPoint?.(x, y);
    if (!hit || el.contains(hit) || hit.contains(el)) return hit ? el : null;
    let [top, floating] = [hit, isPositioned(hit)];
    while (parentOf(top) && !parentOf(top).contains(el)) {
      top = parentOf(top);
      floating ||= isPositioned(top);
    }
    return floating ? top : el;
  };
  const LEAST_COVERED = 2;
  const findLayer = (all) => {
    const covers = all.map((el) => (el ? coverOf(el) : null));
    const counted = new Map();
    covers.forEach((top, at) => {
      if (top && top !== all[at]) counted.set(top, (counted.get(top) ?? 0) + 1);
    });
    for (const [top, covered] of [...counted].sort((one, other) => other[1] - one[1])) {
      const outside = all.filter((el, at) => el && covers[at] && !top.contains(el)).length;
      const inside = all.some((el) => el && top.contains(el));
      if (inside && covered >= LEAST_COVERED && covered * 2 > outside) return top;
    }
    return null;
  };

  const floats = (el) => {
    for (let at = el; at && at !== document.body; at = parentOf(at)) {
      if (isPositioned(at)) return true;
    }
    return false;
  };

  const isMenuEntry = (el) => floats(el) && !layer?.contains(el);

  const isUnseen = (el) => el.localName === "a" && (isFaint(el) || isTiny(el) || isFarOff(el));

  const all = places.map((at) => (library ? library.pick(token, at) : null));
  const layer = findLayer(all);
  const numbered = findNumbered(all);

  return all.map((el) => {
    if (!el) return null;
    const numeric = ["number", "range"].includes((el.getAttribute("type") || "").toLowerCase());
    return {
      href: addressOf(el),
      unseen: isUnseen(el),
      download: el.hasAttribute("download"),
      target: short(el.getAttribute("target")).slice(0, 200),
      submits: submits(el),
      marks: marksOf(el),
      form: formFacts(el),
      options: optionsOf(el),
      multiple: el.hasAttribute("multiple"),
      readonly: el.hasAttribute("readonly"),
      editable: el.isContentEditable === true,
      in_label: (el.closest("label")?.control ?? null) !== null,
      expanded: expanded(el),
      selected: el.getAttribute("aria-selected") ?? (isChosen(el) ? "true" : null),
      current: el.getAttribute("aria-current"),
      item: (isMenuEntry(el) ? null : numbered.get(el)) ?? itemOf(el),
      over: layer?.contains(el) ?? null,
      floats: floats(el),
      min_length: whole(el.getAttribute("minlength")),
      max_length: whole(el.getAttribute("maxlength")),
      pattern: el.hasAttribute("pattern") ? short(el.getAttribute("pattern")) : null,
      min: numeric ? number(el.getAttribute("min")) : null,
      max: numeric ? number(el.getAttribute("max")) : null,
    };
  });
}
