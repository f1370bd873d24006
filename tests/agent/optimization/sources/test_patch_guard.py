"""The promise, for any suite and any patch: no assertion, expected value, typed value or step is ever another one."""

from __future__ import annotations

import ast
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from agent.optimization.sources import (
    PatchRefusal,
    PatchWorkspace,
    apply_patches,
    find_violations,
    propose_patch,
    propose_wait_patch,
)
from kb_schema.suite_optimization import Patch
from tests.agent.optimization.failing_calls import TODAY, candidate, failing, put, suite

NAMES = st.sampled_from(
    ["Save", "Name", "O'Brien", 'say "hi"', "Ünï", "{x}", "back\\slash", "two\nlines", "Total: 5"]
)
ROLES = st.sampled_from(["button", "link", "textbox", "heading", "status"])


@st.composite
def expressions(draw) -> str:
    """Chains of one to three links, as they follow `page.`."""
    links = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(NAMES)
        links.append(
            draw(
                st.sampled_from(
                    [
                        f"get_by_role({draw(ROLES)!r}, name={name!r})",
                        f"get_by_role({draw(ROLES)!r})",
                        f"get_by_text({name!r})",
                        f"get_by_label({name!r}, exact=True)",
                        f"locator({'#' + draw(st.sampled_from(['a', 'b', 'c']))!r})",
                        f"locator('tr').filter(has_text={name!r})",
                        f"locator('li').nth({draw(st.integers(0, 3))})",
                    ]
                )
            )
        )
    return ".".join(links)


STEPS = [
    "page.{x}.click()", "page.{x}.fill({value!r})", "expect(page.{x}).to_have_text({value!r})",
    "expect(page.{x}).to_be_visible()", "expect(page.{x}).not_to_be_visible()", "page.{x}.click(timeout=500)",
    "assert page.{x}.inner_text() == {value!r}", "assert page.{x}.count() == 2", "page.{x}.select_option({value!r})",
]  # fmt: skip


@st.composite
def sources(draw) -> tuple[str, list[str]]:
    lines, chains = ["def test_it(page):"], []
    for _ in range(draw(st.integers(1, 4))):
        chain = draw(expressions())
        chains.append(f"page.{chain}")
        lines.append("    " + draw(st.sampled_from(STEPS)).format(x=chain, value=draw(NAMES)))
    return "\n".join(lines) + "\n", chains


def kept(text: str) -> list[object]:
    """What no patch may touch, read off without the code under test: steps in their order, what they are
    given, and what is expected.
    """
    held: list[object] = []
    for statement in ast.parse(text).body[0].body:
        node = statement.value if isinstance(statement, ast.Expr) else statement.test
        held.append(type(statement).__name__)
        if isinstance(node, ast.Compare):
            held += [ast.dump(each) for each in node.comparators]
            node = node.left
        held.append(node.func.attr)
        held += [ast.dump(each) for each in node.args]
        held += [ast.dump(each) for each in node.keywords if each.arg != "timeout"]
        held.append(ast.unparse(node.func.value).startswith("expect("))
        presence = node.func.attr in ("to_be_visible", "not_to_be_visible", "count")
        if presence:
            chain = links_of(node.func.value)
            held.append(
                sorted(ast.unparse(each) for each in chain if isinstance(each, ast.Call) and is_text(each))
            )
        if node.func.attr == "not_to_be_visible":
            held.append(ast.dump(node.func.value))
    return held


def links_of(node: ast.expr) -> list[ast.expr]:
    """The links of a chain, or of what `expect` is given."""
    found = []
    while isinstance(node, ast.Call):
        node = node.args[0] if isinstance(node.func, ast.Name) else node
        found.append(node)
        node = (
            node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        )
    return found


def is_text(call: ast.Call) -> bool:
    name = getattr(call.func, "attr", "")
    if name == "get_by_role" and call.keywords:
        return getattr(call.args[0], "value", "") in ("heading", "status")
    return name in ("get_by_text", "filter")


def agree(before: str, after: str) -> bool:
    """Whether all that may not change is the same. A locator without a text may get one."""
    ours, theirs = kept(before), kept(after)
    return len(ours) == len(theirs) and all(
        mine in (its, [])
        or (isinstance(mine, list) and [said(each) for each in mine] == [said(each) for each in its])
        for mine, its in zip(ours, theirs, strict=True)
    )


def said(call: str) -> list[str]:
    """The words in a link, wherever it hangs."""
    node = ast.parse(call, mode="eval").body
    words = [*node.args, *(each.value for each in node.keywords)]
    return [ast.dump(each) for each in words]


@settings(
    max_examples=50, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)
@given(sources(), expressions(), st.data())
def test_whatever_is_proposed_keeps_the_promise(source, wanted, data):
    text, chains = source
    with tempfile.TemporaryDirectory() as folder:
        files = suite(Path(folder).resolve(), test_it=text)
        chain = data.draw(st.sampled_from(chains))
        failed = failing(files, "test_it", chain)
        found = propose_patch(failed, candidate(wanted), files, fallback=data.draw(st.booleans()))
        if isinstance(found, PatchRefusal):
            assert found.reason
            return
        applied = apply_patches([found], files, today=TODAY)
        for after in applied.after.values():
            changed = after.decode()
            assert agree(text, changed)
            assert find_violations(text, changed) == ()
            ours, theirs = (
                text.splitlines(),
                [each for each in changed.splitlines() if "# periplus" not in each],
            )
            assert len(ours) == len(theirs)
            assert sum(one != other for one, other in zip(ours, theirs, strict=True)) <= 1


@settings(
    max_examples=70, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)
@given(sources(), st.data())
def test_whatever_patch_is_asked_for_nothing_but_locators_and_waits_change(source, data):
    text, chains = source
    with tempfile.TemporaryDirectory() as folder:
        files = suite(Path(folder).resolve(), test_it=text)
        file = files.read(files.root / "test_it.py")
        node = data.draw(st.sampled_from(list(file.expressions())))
        after = data.draw(
            st.one_of(
                NAMES.map(repr), st.sampled_from(["1", "page", "None", "page.click('#a')", "evil()", *chains]),
                expressions().map("page.{}".format),
            )
        )  # fmt: skip
        patch = Patch(
            patch_id="x", kind="locator", file=str(file.path), span=file.span(node), before=file.code(node),
            after=after, reason="because", confidence=1.0, test_id="t",
        )  # fmt: skip
        for changed in apply_patches([patch], files, today=TODAY).after.values():
            assert agree(text, changed.decode())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('expect(x).to_have_text("5")', 'expect(x).to_have_text("4")'),
        ('expect(x).to_have_text("5")', 'expect(x).not_to_have_text("5")'),
        ('expect(x).to_have_text("5")', "pass"),
        ('page.locator("a").click()', 'page.locator("a").dblclick()'),
        ('page.locator("a").fill("Ada")', 'page.locator("a").fill("Bob")'),
        ('page.fill("#a", "Ada")', 'page.fill("#a", "Bob")'),
        ('page.goto("/a")', 'page.goto("/b")'),
        ('assert page.locator("a").count() == 2', 'assert page.locator("a").count() == 3'),
        ('assert page.locator("a").count() == 2', 'assert page.locator("a").count() >= 2'),
        ('page.locator("a").click()', 'page.locator("a").click(force=True)'),
        ('page.locator("a").click()', "try:\n    page.locator('a').click()\nexcept Exception:\n    pass"),
        ('page.locator("a").click()', "page.locator(steal()).click()"),
        ('page.locator("a").click()', 'other.locator("a").click()'),
        ('x = "#save"', 'x = "#store"'),
        ('expect(page.get_by_text("Saved")).to_be_visible()', 'expect(page.get_by_text("Done")).to_be_visible()'),
        ('expect(page.locator("a").and_(page.locator(".bad"))).to_be_visible()', 'expect(page.locator("a")).to_be_visible()'),
        ('expect(page.locator("a")).to_be_hidden()', 'expect(page.locator("b")).to_be_hidden()'),
        ("time.sleep(1)", "time.sleep(9)"),
    ],
)  # fmt: skip
def test_what_is_not_a_locator_or_a_wait_is_a_violation(before, after):
    assert find_violations(before + "\n", after + "\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('page.locator("a").click()', 'page.locator("b").click(timeout=9_000)'),
        (
            'expect(page.locator("a")).to_have_text("5")',
            'expect(page.get_by_test_id("t")).to_have_text("5", timeout=9)',
        ),
        ('page.click("#a")', 'page.get_by_role("button", name="Go").click()'),
        ('page.fill("#a", "Ada")', 'page.get_by_label("Name").fill("Ada")'),
        ('dialog.locator("#a").click()', 'dialog.page.get_by_text("a").click()'),
    ],
)
def test_a_locator_or_a_wait_is_none(before, after):
    assert find_violations(before + "\n", after + "\n") == ()


def test_more_time_is_given_by_an_argument_in_the_layout_that_is_there(tmp_path):
    line = 'page.locator("#a").click(\n        force=True,\n    )'
    files = suite(
        tmp_path, test_it=f"def test_it(page):\n    {line}\n    page.locator('#b').click(timeout=500)\n"
    )
    first = propose_wait_patch(
        failing(files, "test_it", 'page.locator("#a")', call=line), 12_000, files, reason="late"
    )
    call = "page.locator('#b').click(timeout=500)"
    second = propose_wait_patch(
        failing(files, "test_it", "page.locator('#b')", call=call), 9_000, files, reason="late"
    )
    assert put(files, first, second)["test_it"] == (
        'def test_it(page):\n    # periplus: was page.locator("#a").click(force=True), late, 2026-03-01\n'
        '    page.locator("#a").click(\n        force=True,\n        timeout=12_000,\n    )\n'
        "    # periplus: was page.locator('#b').click(timeout=500), late, 2026-03-01\n"
        "    page.locator('#b').click(timeout=9_000)\n"
    )
    again = propose_wait_patch(
        failing(files, "test_it", "page.locator('#b')", call=call), 400, files, reason="late"
    )
    assert "it waits 0.5 s already" in again.reason


def test_every_patch_can_be_taken_back_alone_and_all_together_give_the_very_file(tmp_path):
    text = (
        "def test_it(page):\n    # mine\n    page.locator('#a').click()\n\n    page.locator('#b').click()\n"
    )
    files = suite(tmp_path, test_it=text)
    patches = [
        propose_patch(
            failing(files, "test_it", f"page.locator('#{each}')"),
            candidate(f"locator('#{each}{each}')"),
            files,
        )
        for each in "ab"
    ]
    bench = PatchWorkspace(tmp_path, tmp_path / "backups")
    bench.put(apply_patches(patches, files, today=TODAY))
    path = tmp_path / "test_it.py"
    assert (tmp_path / "backups/test_it.py").read_text() == text
    assert bench.withdraw(patches[0])
    assert "page.locator('#a').click()" in path.read_text()
    assert "page.locator('#bb').click()" in path.read_text()
    assert bench.withdraw(patches[1])
    assert path.read_text() == text
    assert bench.diff() == ""
    assert not bench.withdraw(patches[1])
