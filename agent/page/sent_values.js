// The values that the application sent for the page's fields: not what was typed into them since.
() => {
  const kinds = ["text", "search", "email", "tel", "url", "number", "date"];
  const values = [...document.querySelectorAll("input, textarea, option")].map((each) => {
    if (each.tagName === "OPTION") return each.defaultSelected ? each.text : "";
    const shown = each.tagName === "TEXTAREA" || kinds.includes(each.type);
    return shown && each.name && each.checkVisibility() ? each.defaultValue : "";
  });
  return values.filter(Boolean).join("\n");
}
