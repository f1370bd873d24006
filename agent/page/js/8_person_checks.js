// Finds what only a person can do: a captcha that is not solved yet, and a passkey prompt of the browser that waits.

const CAPTCHA_WIDGETS = ".g-recaptcha, .h-captcha, .cf-turnstile, [data-sitekey], iframe[title*='captcha' i], "
  + "iframe[src*='/recaptcha/'], iframe[src*='hcaptcha.com'], iframe[src*='challenges.cloudflare.com']";
const CAPTCHA_ANSWERS = "[name='g-recaptcha-response'], [name='h-captcha-response'], [name='cf-turnstile-response']";
const CAPTCHA_WORDS = /captcha|\b(?:not|no soy|pas|kein|non sono|nie jestem) (?:an? |une? |una )?robot|\bi(?: am|'m) human\b/i;
const passkeyNotes = { pending: 0 };

/** Count the passkey prompts that a script of the page opened and that nobody has answered. */
function watchPasskeys() {
  const proto = typeof CredentialsContainer === "undefined" ? null : CredentialsContainer.prototype;
  for (const name of proto ? ["get", "create"] : []) {
    const own = proto[name];
    const asks = { [name](...given) {
      const [options] = given;
      const answer = Reflect.apply(own, this, given);
      if (!options || !options.publicKey || options.mediation === "conditional") return answer;
      passkeyNotes.pending += 1;
      const over = () => { passkeyNotes.pending -= 1; };
      answer.then(over, over);
      return answer;
    } };
    proto[name] = asks[name];
  }
}
watchPasskeys();

/** Each check: its kind, what it is called, and whether it stands in the way of what was entered in its form. */
function personChecks(look) {
  const found = passkeyNotes.pending > 0 ? [{ kind: "passkey", name: "", entered: true }] : [];
  for (const root of rootsBelow(document)) {
    for (const el of root.querySelectorAll("input, textarea")) {
      if (isCaptchaField(el, look)) found.push(captcha(el, labelText(el, look) || attr(el, "placeholder") || ""));
    }
    const widgets = [...root.querySelectorAll(CAPTCHA_WIDGETS)].filter((el) => isOpenWidget(el, look));
    for (const el of widgets) {
      if (!widgets.some((other) => other !== el && other.contains(el))) found.push(captcha(el, attr(el, "title") || ""));
    }
  }
  return found;
}

function captcha(el, name) {
  const form = el.closest("form");
  return { kind: "captcha", name: squeeze(name).slice(0, 80), entered: form === null || [...form.elements].some(isEntered) };
}

function isEntered(field) {
  if (isCaptchaNamed(field) || field.matches(CAPTCHA_ANSWERS)) return false;
  if (tagOf(field) === "select") return [...field.options].some((each) => each.selected !== each.defaultSelected);
  if (isToggle(field)) return field.checked !== field.defaultChecked;
  return typeof field.defaultValue === "string" && field.value !== field.defaultValue;
}

function isCaptchaNamed(el) {
  const names = [attr(el, "name"), attr(el, "id"), attr(el, "placeholder"), attr(el, "aria-label"), ...labelsOf(el).map((each) => each.textContent)];
  return names.some((each) => each && CAPTCHA_WORDS.test(each));
}

function isCaptchaField(el, look) {
  if (tagOf(el) === "input" && UNSHOWN_TYPES.has(el.type)) return false;
  if (el.matches(CAPTCHA_ANSWERS) || !isCaptchaNamed(el) || !visible(el, look)) return false;
  return isToggle(el) ? !el.checked : el.value === "";
}

/** A widget that a person has not solved; one that works without being seen asks nobody. */
function isOpenWidget(el, look) {
  if (!visible(el, look) || el.closest(".grecaptcha-badge") || attr(el, "data-size") === "invisible") return false;
  if (/[?&]size=invisible/.test(attr(el, "src") || "")) return false;
  const around = el.closest("form") || document;
  const answer = around.querySelector(CAPTCHA_ANSWERS) || document.querySelector(CAPTCHA_ANSWERS);
  return answer === null || answer.value === "";
}
