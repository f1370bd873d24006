// What a page keeps in the browser: returns it as text; given such a text, puts it back.

(kept) => {
  const storages = [localStorage, sessionStorage];
  if (kept === null) return JSON.stringify(storages.map((storage) => ({ ...storage })));
  JSON.parse(kept).forEach((former, at) => {
    storages[at].clear();
    for (const [name, value] of Object.entries(former)) storages[at].setItem(name, value);
  });
  return kept;
}
