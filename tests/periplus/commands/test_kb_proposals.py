"""`periplus kb proposals`: looked at, decided, exported; and loads that would lose what was accepted."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kb_schema import parse_document
from kb_schema.proposals import (
    PageReference,
    Proposal,
    ScreenChange,
    SelectorChange,
    Support,
    TransitionChange,
    proposal_id,
)
from kb_schema.selectors import css
from kb_store import open_stores
from kb_store.audit.audit_log import AuditLog
from loaders import read_knowledge_folder, write_folder
from periplus.cli import main
from periplus.commands import kb_proposals
from tests.kb_store.sample_knowledge import knowledge_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
SEEN = (PageReference(url="https://shop.example/[red]", picture="pages/p1.jpg", when="after"),)
REPORTS = ScreenChange(
    type="screen",
    screen=parse_document(
        {"type": "screen", "screen_id": "reports", "name": "Reports", "url_patterns": ["^/reports$"]}
    ),
)
TO_REPORTS = TransitionChange(
    type="transition",
    transition=parse_document(
        {"type": "transition", "_from": "screen/screen_0", "_to": "screen/reports",
         "triggered_by": {"action_type": "click", "element_id": "go"}}
    ),
)  # fmt: skip


@pytest.fixture
def data_dir(tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(kb_proposals.out, "width", 160)  # made at import, by whichever test came first
    return tmp_path / "data"


@pytest.fixture
def periplus(data_dir, capsys):
    def run(*args):
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        told = capsys.readouterr()
        return ended.value.code or 0, told.out, told.err

    return run


@pytest.fixture
def folder(tmp_path, periplus):
    write_folder(knowledge_of(), tmp_path / "kb")
    periplus("kb", "load", tmp_path / "kb")
    return tmp_path / "kb"


def propose(data_dir, value, *, runs=3, element="go"):
    change = SelectorChange(type="selector", screen_id="screen_0", element_id=element, selector=css(value))
    return kept(data_dir, change, runs=runs, before=css("#go").to_json())


def kept(data_dir, change, *, runs=3, before=None):
    made = Proposal(
        proposal_id=proposal_id("shop", change), website_id="shop", change=change,
        before=before, proposed_at=NOW,
    )  # fmt: skip

    async def keep():
        async with open_stores(data_dir) as stores:
            for number in range(runs):
                support = Support(run_id=f"run-{number}", score=0.8, note="[healed]", at=NOW, seen=SEEN)
                await stores.proposals.support(made, support)

    asyncio.run(keep())
    return made.proposal_id


def test_a_proposal_is_listed_shown_accepted_and_exported(periplus, folder, data_dir, tmp_path):
    assert "no proposals wait" in periplus("kb", "proposals", "list")[1]
    name = propose(data_dir, "#healed")
    code, out, _ = periplus("kb", "proposals", "list")
    assert code == 0
    for told in (name, "selector of screen_0.go", "3 for, 0 against", "0.80", "confirmed"):
        assert told in out
    code, out, _ = periplus("kb", "proposals", "show", name[:6])
    assert '$.selector.strategies[0].value "#go" -> "#healed"' in out
    assert out.count("[healed]") == 3
    code, out, _ = periplus("kb", "proposals", "accept", name)
    assert (code, out) == (0, f"accepted {name} selector of screen_0.go: generation 2\n")
    assert "already in the knowledge base" in periplus("kb", "proposals", "accept", name)[1]
    periplus("kb", "export", "--website", "shop", tmp_path / "out")
    exported, _ = read_knowledge_folder(tmp_path / "out")
    assert exported.elements("screen_0")["go"].selector == css("#healed")


def test_decisions_are_recorded_in_the_audit_log(periplus, folder, data_dir):
    accepted, rejected = propose(data_dir, "#a"), propose(data_dir, "#b", runs=1)
    periplus("kb", "proposals", "accept", accepted)
    periplus("kb", "proposals", "reject", rejected)
    told = [
        (each.action, each.about.text, each.website.text) for each in AuditLog(data_dir / "audit").entries()
    ]
    assert told == [
        ("knowledge_changed", "generation 1", "shop"),
        ("knowledge_changed", "generation 2", "shop"),
        ("proposal_accepted", f"{accepted} (selector of screen_0.go)", "shop"),
        ("proposal_rejected", f"{rejected} (selector of screen_0.go)", "shop"),
    ]


def test_a_load_without_what_was_accepted_says_so_with_the_difference(periplus, folder, data_dir):
    name = propose(data_dir, "#healed")
    periplus("kb", "proposals", "accept", "--confirmed")
    code, _, err = periplus("kb", "load", folder)
    assert code == 2
    for told in (name, "#healed", '"#go"', "--replace-learned"):
        assert told in err
    assert periplus("kb", "load", folder, "--replace-learned")[0] == 0
    assert periplus("kb", "load", folder)[0] == 0
    assert json.loads(periplus("kb", "proposals", "list", "--all", "--json")[1])[0]["status"] == "replaced"


def test_only_confirmed_ones_are_accepted_together_and_rejected_ones_stay_rejected(
    periplus, folder, data_dir
):
    confirmed, weak = propose(data_dir, "#a"), propose(data_dir, "#b", runs=1)
    listed = json.loads(periplus("kb", "proposals", "list", "--json")[1])
    assert {each["proposal_id"]: each["confirmed"] for each in listed} == {confirmed: True, weak: False}
    assert periplus("kb", "proposals", "reject", weak)[0] == 0
    out = periplus("kb", "proposals", "accept", "--confirmed")[1]
    assert confirmed in out
    assert weak not in out
    code, _, err = periplus("kb", "proposals", "reject", confirmed)
    assert code == 2
    assert "--replace-learned" in err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("show", "nothing"), "no proposal 'nothing'"),
        (("accept",), "--confirmed"),
        (("accept", "--confirmed", "abc"), "--confirmed"),
        (("reject", "abc"), "list --all"),
        (("list", "--website", "shpo"), 'did you mean "shop"'),
        (("export", "out", "--website", "nope"), "no website 'nope'"),
        (("accept", "--confirmed", "--website", "nope"), "no website 'nope'"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(periplus, folder, args, said):
    code, _, err = periplus("kb", "proposals", *args)
    assert code == 2
    assert said in err


def test_a_proposal_about_what_is_gone_is_not_accepted(periplus, folder, data_dir):
    name = propose(data_dir, "#x", element="gone")
    code, _, err = periplus("kb", "proposals", "accept", name)
    assert code == 2
    assert "reject it" in err
    assert json.loads(periplus("kb", "proposals", "list", "--json")[1])[0]["status"] == "proposed"


def test_a_new_screen_and_the_way_to_it_are_shown_and_accepted_the_screen_first(periplus, folder, data_dir):
    way, screen = kept(data_dir, TO_REPORTS), kept(data_dir, REPORTS)
    assert "screen reports" in periplus("kb", "proposals", "list")[1]
    shown = periplus("kb", "proposals", "show", screen)[1]
    assert '"Reports"' in shown
    assert "after, https://shop.example/[red], pages/p1.jpg" in shown
    code, _, err = periplus("kb", "proposals", "accept", way)
    assert code == 2
    assert f"also accept the screen: `periplus kb proposals accept {screen}`" in err
    code, out, _ = periplus("kb", "proposals", "accept", way, screen)
    assert code == 0
    assert out.index(screen) < out.index(way)
    told = periplus("kb", "diff", folder)[1]
    assert "- reports" in told
    assert "- screen_0.to.reports" in told


def test_a_way_to_a_screen_nobody_proposed_says_what_is_missing(periplus, folder, data_dir):
    way = kept(data_dir, TO_REPORTS)
    code, _, err = periplus("kb", "proposals", "accept", way)
    assert code == 2
    assert "there is no screen 'reports' (yet)" in err
    assert f"periplus kb proposals reject {way}" in err


def test_proposals_are_decided_in_files_and_what_was_decided_is_done(periplus, folder, data_dir, tmp_path):
    way, screen, healed = kept(data_dir, TO_REPORTS), kept(data_dir, REPORTS), propose(data_dir, "#healed")
    branch = tmp_path / "proposals"
    assert "wrote 3 proposals" in periplus("kb", "proposals", "export", branch)[1]
    files = {each.name.rpartition("-")[2].removesuffix(".yaml"): each for each in branch.iterdir()}
    assert set(files) == {way, screen, healed}
    text = files[healed].read_text()
    assert text.startswith("# Selector of screen_0.go of shop\n# 3 runs support it, 0 against\n")
    for told in ("decision: undecided", "picture: pages/p1.jpg", "note: '[healed]'", '"#go"'.strip('"')):
        assert told in text
    for name, decision in ((way, "accept"), (screen, "accept"), (healed, "reject")):
        files[name].write_text(files[name].read_text().replace("undecided", decision, 1))
    assert periplus("kb", "proposals", "export", branch)[0] == 0
    assert "decision: reject" in files[healed].read_text()
    code, out, _ = periplus("kb", "proposals", "apply", branch)
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines()] == [
        ["rejected", healed], ["accepted", screen], ["accepted", way],
    ]  # fmt: skip
    assert "no proposals wait" in periplus("kb", "proposals", "list")[1]


def test_an_accepted_one_is_written_into_the_files_and_loading_them_accepts_it(
    periplus, folder, data_dir, tmp_path
):
    name = propose(data_dir, "#healed")
    before = (folder / "screens/screen_0.yaml").read_text()
    code, out, _ = periplus("kb", "proposals", "accept", name, "--into", folder)
    assert code == 0
    assert "changed" in out
    assert "periplus kb load" in out
    after = (folder / "screens/screen_0.yaml").read_text()
    assert after == before.replace("'#go'", "'#healed'")
    assert "screen_0.go" in periplus("kb", "proposals", "list")[1]
    assert periplus("kb", "load", folder)[0] == 0
    listed = json.loads(periplus("kb", "proposals", "list", "--all", "--json")[1])
    assert [each["status"] for each in listed] == ["accepted"]
    again = json.loads(periplus("kb", "proposals", "accept", name, "--into", folder, "--json")[1])
    assert (again["changed"], again["held"]) == ([], ["selector of screen_0.go"])


def test_a_file_that_is_no_proposal_any_more_is_refused_with_its_place(periplus, folder, data_dir, tmp_path):
    propose(data_dir, "#healed")
    branch = tmp_path / "proposals"
    periplus("kb", "proposals", "export", branch)
    (file,) = branch.iterdir()
    text = file.read_text()
    for edit, told in (("#healed", "not the one that was proposed"), ("decision: undecided", "$.decision")):
        file.write_text(text.replace(edit, edit[:-1] + "x"))
        code, _, err = periplus("kb", "proposals", "apply", branch)
        assert code == 2
        assert file.name in " ".join(err.split())
        assert told in " ".join(err.split())
    code, _, err = periplus("kb", "proposals", "apply", tmp_path / "nothing")
    assert code == 2
    assert "there is no such folder" in err


def test_what_was_changed_meanwhile_is_not_gone_over_unless_asked(periplus, folder, data_dir):
    first, second = propose(data_dir, "#a"), propose(data_dir, "#b")
    assert periplus("kb", "proposals", "accept", first)[0] == 0
    code, _, err = periplus("kb", "proposals", "accept", second)
    assert (code, "selector of screen_0.go changed since it was proposed" in err) == (2, True)
    assert "--anyway" in err
    out = periplus("kb", "proposals", "show", second)[1]
    for told in ('"#go" -> "#b"', "changed since it was proposed", '"#a" -> "#b"'):
        assert told in out
    shown = json.loads(periplus("kb", "proposals", "show", second, "--json")[1])
    assert (shown["changed_since"], shown["now"]["strategies"][0]["value"]) == (True, "#a")
    assert "generation 3" in periplus("kb", "proposals", "accept", second, "--anyway")[1]


def test_a_screen_that_somebody_added_meanwhile_is_not_replaced_in_files_either(periplus, folder, data_dir):
    name = kept(data_dir, REPORTS)
    mine = folder / "screens/reports.yaml"
    mine.write_text("screen_id: reports\nname: Mine\nurl_patterns: ['^/mine$']\n")
    code, _, err = periplus("kb", "proposals", "accept", name, "--into", folder)
    assert (code, "screen reports is there now since it was proposed" in err) == (2, True)
    assert "Mine" in mine.read_text()
    assert periplus("kb", "proposals", "accept", name, "--into", folder, "--anyway")[0] == 0
    assert "name: Reports" in mine.read_text()


def test_two_about_the_same_are_not_written_into_files_together(periplus, folder, data_dir):
    first, second = propose(data_dir, "#a"), propose(data_dir, "#b")
    before = {each: each.read_bytes() for each in folder.rglob("*.yaml")}
    code, _, err = periplus("kb", "proposals", "accept", first, second, "--into", folder)
    assert (code, "both change the selector of screen_0.go" in err) == (2, True)
    assert {each: each.read_bytes() for each in folder.rglob("*.yaml")} == before


def test_what_was_accepted_before_one_is_refused_is_told(periplus, folder, data_dir):
    first, second = propose(data_dir, "#a"), propose(data_dir, "#gone", element="gone")
    code, out, err = periplus("kb", "proposals", "accept", first, second)
    assert (code, out) == (2, f"accepted {first} selector of screen_0.go: generation 2\n")
    assert "selector of screen_0.gone" in err
    code, out, _ = periplus("kb", "proposals", "accept", first, second, "--json")
    assert (code, [each["proposal_id"] for each in json.loads(out)]) == (2, [first])


def test_nothing_is_accepted_where_a_file_rejects_what_is_knowledge(periplus, folder, data_dir, tmp_path):
    known, other = propose(data_dir, "#a"), kept(data_dir, REPORTS)
    branch = tmp_path / "proposals"
    assert periplus("kb", "proposals", "export", branch)[0] == 0
    for file in branch.iterdir():
        decision = "reject" if known in file.name else "accept"
        file.write_text(file.read_text().replace("undecided", decision, 1))
    assert periplus("kb", "proposals", "accept", known)[0] == 0
    code, out, err = periplus("kb", "proposals", "apply", branch)
    assert (code, out, known in err) == (2, "", True)
    (left,) = json.loads(periplus("kb", "proposals", "list", "--json")[1])
    assert left["proposal_id"] == other


def test_what_runs_and_pages_say_does_nothing_to_a_terminal(periplus, folder, data_dir):
    monster = "\x1b[31mred\u202e\x9b2J\nnext"
    name = propose(data_dir, monster, runs=1)
    said = Support(
        run_id="evil", note=monster, at=NOW, seen=(PageReference(url=f"https://x.example/{monster}"),)
    )

    async def keep():
        async with open_stores(data_dir) as stores:
            await stores.proposals.support(await stores.proposals.proposal("shop", name), said)

    asyncio.run(keep())
    told = periplus("kb", "proposals", "show", name)[1]
    assert "red" in told
    assert not {"\x1b", "\u202e", "\x9b"} & set(told)
    assert "\\u202e" in told, "a value that differs by what is not seen shows it"


def test_an_export_that_is_cut_off_leaves_the_decision_that_was_written(
    periplus, folder, data_dir, tmp_path, monkeypatch
):
    propose(data_dir, "#a")
    branch = tmp_path / "proposals"
    periplus("kb", "proposals", "export", branch)
    (file,) = branch.iterdir()
    decided = file.read_text().replace("undecided", "accept", 1)
    file.write_text(decided)
    write_text = Path.write_text

    def cut(path, text, **given):
        write_text(path, text[:40], **given)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", cut)
        code, _, err = periplus("kb", "proposals", "export", branch)
    assert (code, "No space left" in err) == (2, True)
    assert file.read_text() == decided
    assert "accepted" in periplus("kb", "proposals", "apply", branch)[1]
