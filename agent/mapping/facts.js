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

  return places.map((at) => {
    const el = library ? library.pick(token, at) : null;
    if (!el) return null;
    const numeric = ["number", "range"].includes((el.getAttribute("type") || "").toLowerCase());
    return {
      href: addressOf(el),
      download: el.hasAttribute("download"),
      target: short(el.getAttribute("target")).slice(0, 200),
      submits: submits(el),
      marks: marksOf(el),
      form: formFacts(el),
      options: optionsOf(el),
      multiple: el.hasAttribute("multiple"),
      readonly: el.hasAttribute("readonly"),
      editable: el.isContentEditable === true,
      in_label: el.closest("label") !== null,
      expanded: expanded(el),
      selected: el.getAttribute("aria-selected"),
      current: el.getAttribute("aria-current"),
      min_length: whole(el.getAttribute("minlength")),
      max_length: whole(el.getAttribute("maxlength")),
      pattern: el.hasAttribute("pattern") ? short(el.getAttribute("pattern")) : null,
      min: numeric ? number(el.getAttribute("min")) : null,
      max: numeric ? number(el.getAttribute("max")) : null,
    };
  });
}
