"""A hostile page repeats a secret in every spelling in every place, and nothing that the commands leave or say has it.

The page learns the secret when it is typed. What docs/inputs.md declares unrecognisable is put there as well: it is found,
so that the search is known to look where the page writes.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.secret_disguises import SecretDisguises
from tests.support import warm
from tests.support.hostile_spellings import RECOGNISED, UNRECOGNISED
from tests.support.small_sites import Answered, Asked, running_site

pytestmark = pytest.mark.sampled(0.5)

SECRET = "c0rrect-Horse7"
ECHO = """
async function repeat(typed) {
  if (typed.length !== 14) return;
  const all = await (await fetch('/spelt', {method: 'POST', body: 'pin=' + typed})).json(), joined = all.join(' | ');
  const echo = document.getElementById('echo');
  for (const form of all) {
    const text = document.createElement('p'); text.textContent = form; echo.append(text);
    const markup = document.createElement('div'); markup.innerHTML = form; echo.append(markup);
    const marked = document.createElement('i'); marked.title = form; marked.dataset.kept = form; echo.append(marked);
    const field = document.createElement('input'); field.value = form; field.setAttribute('value', form); echo.append(field);
    echo.append(document.createComment(form));
    console.log(form); console.error(form); console.warn({form});
    fetch('/kept?x=' + encodeURIComponent(form), {method: 'POST', body: form}).catch(() => {});
  }
  document.title = all.slice(0, 20).join(' ');
  all.forEach((form, at) => {
    document.cookie = 'c' + at + '=' + encodeURIComponent(form);
    localStorage['k' + at] = form; sessionStorage['k' + at] = form;
    try { history.pushState({form}, '', '/?p' + at + '=' + encodeURIComponent(form)); } catch {}
  });
  const shadow = document.getElementById('shadow').attachShadow({mode: 'open'});
  shadow.innerHTML = '<p></p>'; shadow.firstChild.textContent = joined;
  const canvas = document.createElement('canvas'); echo.append(canvas);
  canvas.getContext('2d').fillText(joined, 5, 20); canvas.textContent = joined; canvas.setAttribute('aria-label', joined);
  const alerted = document.createElement('div'); alerted.setAttribute('role', 'alert'); alerted.textContent = joined;
  document.body.prepend(alerted);
  for (const form of all.slice(0, 5)) setTimeout(() => { throw new Error(form); });
}
document.getElementById('pin').addEventListener('input', event => repeat(event.target.value));
"""
STRINGS = re.compile(rb"[\x09\x0a\x0d\x20-\x7e\x80-\xff]{8,}")


def _page(asked: Asked) -> Answered:
    if asked.path == "/spelt":
        assert asked.form["pin"] == SECRET
        return Answered(json.dumps([each(SECRET) for each in (*RECOGNISED.values(), *UNRECOGNISED.values())]))
    return Answered(
        "<!doctype html><html lang=en><title>Sign in</title><body><h1>Sign in</h1><label>Pin <input id=pin type=password></label>"
        f"<button id=go type=button>Continue</button><div id=echo></div><div id=shadow></div>"
        f"<script>{ECHO}</script></body></html>"
    )


def _knowledge(folder: Path, base: str) -> Path:
    documents = {
        "website": {"type": "website", "website_id": "echo", "name": "Echo", "base_url": base},
        "screen": {
            "type": "screen", "screen_id": "sign_in", "name": "Sign in", "url": "/", "url_patterns": ["^/(\\\\?.*)?$"],
            "state_signature": {"required_indicators": [{"type": "dom_contains", "value": "Sign in", "selector": "h1"}]},
        },
        "task": {
            "type": "task", "task_id": "sign_in", "name": "Sign in",
            "io_spec": {
                "inputs": [{"name": "pin", "secret": True}],
                "outputs": [
                    {"name": "said", "after_step": "pin", "extraction": {"method": "dom_extraction", "selector": "#echo"}},
                    {"name": "value", "after_step": "pin", "extraction": {
                        "method": "dom_extraction", "selector": "#echo input", "attribute": "value"}},
                    {"name": "rows", "after_step": "pin", "extraction": {
                        "method": "table_extraction", "selector": "#echo i", "columns": {"kept": ":scope@title"}}},
                    {"name": "address", "after_step": "pin", "extraction": {"method": "url_parsing", "pattern": "p\\\\d+=(.*)"}},
                ],
            },
            "steps": [
                {"step_id": "open", "action": {"action_type": "navigate", "url": "/"}},
                {"step_id": "pin", "action": {"action_type": "fill", "target": "#pin", "value": "{pin}"}},
                {"step_id": "look", "action": {"action_type": "get_screen_content", "target": "#echo"}},
                {"step_id": "go", "action": {"action_type": "hover", "target": "#go"},
                 "postconditions": [{"type": "title_contains", "value": "Welcome", "timeout": 0.5},
                                    {"type": "dom_contains", "value": "Welcome", "selector": "#echo", "timeout": 0.5}]},
            ],
        },
    }  # fmt: skip
    for name, document in documents.items():
        (folder / "kb").mkdir(exist_ok=True)
        (folder / "kb" / f"{name}.json").write_text(json.dumps(document))
    return folder / "kb"


def _texts(data: bytes) -> Iterator[str]:
    """The texts of a file: each string of JSON and of other text that is long enough."""
    for line in STRINGS.findall(data):
        text = line.decode("utf-8", "replace")
        for part in text.split("\n"):
            try:
                found = json.loads(part)
            except ValueError:
                yield part
            else:
                yield from _strings(found)


def _strings(found: object) -> Iterator[str]:
    match found:
        case str():
            yield found
        case dict():
            for name, value in found.items():
                yield name
                yield from _strings(value)
        case list():
            for value in found:
                yield from _strings(value)


def _leaks(where: str, data: bytes) -> list[str]:
    """Where data repeat the secret: as one of the spellings, or in what is left in normalised form."""
    disguises = SecretDisguises([SECRET])
    spelt = {
        (name, form.strip())
        for name, spelling in {"plain": str, **RECOGNISED}.items()
        for form in (spelling(SECRET), html.escape(spelling(SECRET)), json.dumps(spelling(SECRET))[1:-1])
        if len(form.strip()) > 8
    }
    whole = [f"{where}: {name}" for name, form in spelt if form.encode() in data]
    hidden = [each for each in _texts(data) if len(each) < 100_000 and disguises.found_in(each)]
    return whole + [f"{where}: in {each[:200]!r}" for each in hidden]


@pytest.mark.timeout(600)
def test_nothing_of_a_secret_is_left_or_said_whatever_a_page_makes_of_it(tmp_path):
    env = {
        "PERIPLUS_DATA_DIR": str(tmp_path / "data"), "PERIPLUS_SECRET_ECHO_PIN": SECRET, "COLUMNS": "4000",
        "PERIPLUS_LOG_LEVEL": "DEBUG",
    }  # fmt: skip
    said = []

    def periplus(*arguments: str, code: int | None = None) -> str:
        done = warm.run("periplus", *arguments, cwd=tmp_path, env=env, timeout=300)
        said.append(done.stdout + done.stderr)
        assert code is None or done.returncode == code, said[-1][-3_000:]
        return said[-1]

    with running_site(_page) as site:
        periplus("kb", "load", str(_knowledge(tmp_path, site.base)), code=0)
        periplus("run", "sign_in", "--headless", "--out", "out")
        kept = [asked.query["x"] for asked in site.writes if asked.path == "/kept"]
        assert set(kept) >= {each(SECRET) for each in UNRECOGNISED.values()}, (
            "the secret was typed, and repeated"
        )
        periplus("runs", "show", "last", "--json", code=0)
        (tmp_path / "a.feature").write_text(
            f'Feature: A\n\n  Scenario: pin: Pin\n    Given I am on "{site.base}/"\n'
            '    When I enter "{secret:PIN}" into "Pin"\n    Then field_populated\n'
            '    When I click the "Continue" button\n    Then I see "Welcome"\n'
        )
        env |= {"PIN": SECRET, "PERIPLUS_SECRET_PIN": SECRET}
        periplus("verify", "a.feature", "--headless", "--out", "verified", code=1)
        periplus("audit", "export", "audit.jsonl", code=0)
    files = [each for each in tmp_path.rglob("*") if each.is_file() and "kb" not in each.parts]
    assert len(files) > 10
    assert [leak for each in files for leak in _leaks(each.name, each.read_bytes())] == []
    assert [
        leak for each in files for leak in _leaks("a name", str(each.relative_to(tmp_path)).encode())
    ] == []
    assert [leak for each in said for leak in _leaks("output", each.encode())] == []
    whole = b"".join(each.read_bytes() for each in files)
    left = {name for name, spelling in UNRECOGNISED.items() if spelling(SECRET).encode() in whole}
    assert {"a hash", "a cipher", "an exclusive or"} <= left, "the page's places were read"
