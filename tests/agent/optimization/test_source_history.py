"""What git says a name was replaced by, and what `optimize` makes of it where no passing run is known."""

from __future__ import annotations

import subprocess

import pytest

from agent.optimization.live_healing import LivePolicy, open_healer
from agent.optimization.source_history import find_renames, find_replacement
from agent.optimization.suite_runner import RaiseFailure, SubstituteLocator, run_suite
from kb_schema.suite_optimization import ExecutionRequest
from tests.agent.optimization import shop

OLD = '<form id="order"><label>Name <input name="who"></label><button class="go">Reserve</button></form>'
QUICK = LivePolicy(late_s=0.2, late_beside_s=0.05)


def git(root, *args):
    own = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", root, *own, *args], check=True, capture_output=True)


def commit(root, **files):
    for name, text in files.items():
        (root / name.replace("__", ".")).write_text(f"{text}\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a change")


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.mark.parametrize(
    ("word", "old", "new", "after"),
    [
        ("Reserve", OLD, OLD.replace("Reserve", "Book now"), "Book now"),
        ("order", OLD, OLD.replace('"order"', '"booking"').replace("Reserve", "Book now"), "booking"),
        ("Reserve", OLD, OLD.replace("Reserve", "Book now").replace("</form>", "<button>Print</button></form>"), "Book now"),
        ("save", "data-testid='save'", "data-testid='store'", "store"),
        ("Save", '{ label: "Save", id: 1 }', '{ label: "Keep", id: 1 }', "Keep"),
        ("Reserve", OLD, OLD, None),
        ("Reserve", OLD, OLD.replace('<button class="go">Reserve</button>', ""), None),
        ("Reserve", OLD, OLD.replace("Reserve", "<b>Book</b> now"), None),
        ("Save", "<i>Save</i><b>Save</b>", "<i>Keep</i><b>Save</b>", None),
    ],
)  # fmt: skip
def test_a_name_is_replaced_by_what_has_its_place_in_the_line(word, old, new, after):
    assert find_replacement(word, old, new) == after


async def test_a_rename_is_read_from_any_committed_file_and_followed(repository):
    commit(repository, page__html=OLD)
    commit(repository, page__html=OLD.replace("Reserve", "Book now"))
    commit(repository, page__html=OLD.replace("Reserve", "Book a seat"))
    (repository / "page.html").write_text(OLD.replace("Reserve", "Not committed"))
    found = await find_renames(repository / "page.html", ["Reserve", "Elsewhere"])
    assert [(each.before, each.after, each.file) for each in found] == [
        ("Reserve", "Book now", "page.html"),
        ("Reserve", "Book a seat", "page.html"),
    ]
    assert "became 'Book now' in page.html" in str(found[0])


async def test_a_name_never_becomes_one_that_destroys(repository):
    commit(repository, page__html=OLD)
    commit(repository, page__html=OLD.replace("Reserve", "Delete everything"))
    assert await find_renames(repository, ["Reserve"]) == ()


async def test_outside_of_a_repository_nothing_is_known(tmp_path):
    assert await find_renames(tmp_path, ["Reserve"]) == ()


@pytest.fixture
def suite(repository, chromium_path):
    return shop.suite_in(repository, chromium_path)


async def answer(suite, now):
    """What is answered to a test that presses Reserve on a page as it is now, without any passing run."""
    (suite.root / "test_order.py").write_text(
        f"def test_order(page):\n    page.set_content('''{now}''')\n"
        "    page.get_by_role('button', name='Reserve').click(timeout=1000)\n"
    )
    answers = []
    request = ExecutionRequest(execution_id="x", test_file_paths=("test_order.py",))
    async with open_healer(policy=QUICK) as ask:

        async def noted(failure):
            answers.append(await ask(failure))
            return answers[-1]

        await run_suite(request, shop.on(suite, "http://127.0.0.1:9"), on_failure=noted)
    return answers[0]


async def test_git_and_the_page_together_find_a_renamed_button_without_a_green_run(repository, suite):
    now = OLD.replace("Reserve", "Book now").replace("</form>", "<button>Print</button></form>")
    blind = await answer(suite, now)
    assert isinstance(blind, RaiseFailure), "its words alone say nothing"
    commit(repository, order__html=OLD)
    commit(repository, order__html=now)
    told = await answer(suite, now)
    assert isinstance(told, SubstituteLocator)
    assert told.candidate.expression == 'get_by_role("button", name="Book now")'
    assert told.candidate.witnesses[0].startswith("git: 'Reserve' became 'Book now' in order.html (")
    assert "it is a button" in told.candidate.witnesses


async def test_one_sign_alone_is_offered_and_not_used(repository, suite):
    commit(repository, order__html=OLD)
    commit(repository, order__html=OLD.replace("Reserve", "Book now"))
    link = OLD.replace('<button class="go">Reserve</button>', '<a href="/book">Book now</a>')
    told = await answer(suite, link)
    assert isinstance(told, RaiseFailure)
    assert told.evidence.nearest_verdict == "offered"
    assert told.evidence.nearest == "link 'Book now'"
