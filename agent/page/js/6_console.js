// Lines that the page writes to the console are limited: each is a message of the browser to its driver, and a page that
// writes without end fills the memory of both and delays every other page.

const LINES_A_SECOND = 100; // of one document; further lines are dropped
const TEXT_A_SECOND = 100_000; // characters of their texts
const LONGEST_TEXT = 10_000; // a longer text is cut
const written = { since: 0, lines: 0, characters: 0 };

/** Whether a line with these values may be written now. */
function mayWrite(values) {
  const now = nativeNow();
  if (now - written.since >= 1000) Object.assign(written, { since: now, lines: 0, characters: 0 });
  written.lines += 1;
  for (const each of values) if (typeof each === "string") written.characters += each.length;
  return written.lines <= LINES_A_SECOND && written.characters <= TEXT_A_SECOND;
}

function limitConsole() {
  for (const name of Object.keys(console)) {
    overhear(console, name, () => ({
      apply(native, self, args) {
        const values = args.map((each) => (typeof each === "string" ? each.slice(0, LONGEST_TEXT) : each));
        return mayWrite(values) ? Reflect.apply(native, self, values) : undefined;
      },
    }));
  }
}
