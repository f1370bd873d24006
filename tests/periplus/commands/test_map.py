"""`periplus map` as it is typed: what it refuses, what it draws anew, what it tells. Exploring: `tests/chain`."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from agent.exploration.exploration_events import (
    ExplorationEnded,
    ExplorationProgress,
    ExplorationWaiting,
    OfferSkipped,
    PageFound,
    TransitionAttempted,
)
from agent.exploration.requests.robots_permissions import DISALLOWED
from kb_schema.exploration_folder import ExplorationFolder
from kb_schema.explorations import Exploration, Offer, UnexploredItem
from loaders import read_knowledge_folder
from loaders.exploration_import import knowledge_builder
from periplus.commands.map import app
from periplus.errors import UserError
from periplus.exit_codes import ExitCode
from periplus.exploration.login_form import find_fields, find_sign_in_controls, find_submit_button
from periplus.exploration.map_folder import MapFolder, find_map_folder
from periplus.exploration.map_view import MapView
from periplus.exploration.sign_in_methods import sign_in_by_storage_state
from periplus.exploration.sitemap_addresses import select_sitemap_addresses
from tests.support.explored import drawing

SITE = "https://quay.example/"


def seen(path: Path, ended_by: str | None = "done") -> MapFolder:
    """A map of one page, not yet drawn."""
    folder = MapFolder(path)
    found = drawing(folder.exploration.path)
    found.page("p1", "/", "<main><h1>Quay</h1><a href='/log'>Log</a></main>", start=True)
    exploration = found.folder.exploration
    found.folder.end(
        exploration.model_copy(update={"ended_by": ended_by, "ended_at": exploration.started_at})
    )
    return folder


def refused(*args: str) -> UserError:
    result = CliRunner().invoke(app, list(args))
    assert isinstance(result.exception, UserError), (result.exception, result.output)
    assert result.exception.fix
    return result.exception


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ((), "URL is missing"),
        (("ftp://quay.example",), "ftp://quay.example is not a web address"),
        ((SITE, "--origin", "elsewhere"), "elsewhere"),
        ((SITE, "--reads", "api/views"), "--reads api/views: expected a path"),
        ((SITE, "--reads", "/*"), "--reads /*: expected a path"),
        ((SITE, "--input", "email=a@b.example"), "--input is only used for signing in"),
        ((SITE, "--sign-in-form"), "needs the values to type"),
        ((SITE, "--sign-in-url", "https://quay.example/in"), "--sign-in-url needs --sign-in-form"),
        (
            (SITE, "--sign-in-form", "-i", "a=b", "--sign-in-url", "in"),
            "--sign-in-url in is not a web address",
        ),
        ((SITE, "--workers", "many"), "is invalid"),
        ((SITE, "--workers", "4", "--headed"), "--headed cannot be combined with --workers"),
        (
            (SITE, "--sign-in-form", "--storage-state", "x.json", "-i", "a=b"),
            "--sign-in and --sign-in-form cannot be combined",
        ),
        ((SITE, "--resume"), "contains no map to resume"),
        ((SITE, "--also", "https://other.example/"), "does not belong to https://quay.example"),
        ((SITE, "--sitemap", "nowhere.xml"), "nowhere.xml"),
        ((SITE, "--website", "not an id"), "--website: expected letters, digits,"),
        ((SITE, "--redraw", "x"), "--redraw cannot be combined with URL"),
        (("--redraw", "nowhere"), "contains no map"),
        (("--update",), "--update needs to know which map"),
        (("--update", "--website", "nowhere"), "contains no map to update"),
        (("--apply", SITE), "--apply needs --update"),
        (("--propose", SITE), "--propose needs --update"),
        (("--update", SITE, "--apply", "--propose"), "--apply and --propose cannot be combined"),
        (("--update", SITE, "--resume"), "--update cannot be combined"),
        (("--update", SITE, "--workers", "2"), "--update cannot be combined"),
        (("--update", SITE, "--load"), "--update --load needs --apply"),
    ],
)
def test_what_cannot_be_mapped_is_said_before_any_browser_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], what: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    assert what in refused(*args).message


def test_a_map_that_is_there_is_not_begun_anew(tmp_path: Path) -> None:
    seen(tmp_path / "map")
    error = refused(SITE, "--out", str(tmp_path / "map"))
    assert "already contains a map" in error.message
    assert "--resume" in (error.fix or "")


def test_a_map_that_was_made_signed_in_is_not_updated_signed_out(tmp_path: Path) -> None:
    folder = seen(tmp_path / "map")
    signed_in = folder.exploration.exploration.model_copy(update={"signed_in_by": "form"})
    folder.exploration.end(signed_in)
    error = refused("--update", "--out", str(folder.path))
    assert "made signed in (form)" in error.message
    assert "--sign-in-form" in (error.fix or "")


def test_an_update_needs_the_knowledge_of_the_map(tmp_path: Path) -> None:
    folder = seen(tmp_path / "map")
    result = CliRunner().invoke(app, ["--update", "--out", str(folder.path)])
    assert result.exception is not None
    assert str(folder.knowledge) in str(result.exception)


def test_a_map_is_drawn_anew_without_a_browser(tmp_path: Path) -> None:
    folder = seen(tmp_path / "map")
    result = CliRunner().invoke(app, ["--redraw", str(folder.path), "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["screens"] == {"quay": ["p1"]}
    knowledge, _ = read_knowledge_folder(Path(told["knowledge"]))
    assert list(knowledge.screens) == ["quay"]


def test_the_exploration_itself_may_be_named(tmp_path: Path) -> None:
    folder = seen(tmp_path / "map")
    assert find_map_folder(folder.exploration.path) == folder


def test_a_map_in_which_nothing_was_seen_is_refused(tmp_path: Path) -> None:
    drawing(tmp_path / "map" / "exploration")
    assert "the exploration has no pages" in refused("--redraw", str(tmp_path / "map")).message


def test_a_map_without_a_screen_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        knowledge_builder, "build_screens", lambda _: ([], ["Quay is left out: it has no text"])
    )
    refusal = refused("--redraw", str(seen(tmp_path / "map").path), "--load")
    assert refusal.message.endswith("no knowledge base was written: Quay is left out: it has no text")
    assert refusal.code == ExitCode.FAILED


def test_what_a_page_says_names_no_secret_also_if_it_is_put_together(tmp_path: Path) -> None:
    folder = MapFolder(tmp_path / "map")
    found = drawing(folder.exploration.path)
    html = "<main><h1>Boats of {secret:A}</h1><label>Kind <select><option>{secret:B}<option>x</select></label><a href='/x'><b>{sec</b>ret:C}</a></main>"
    found.page("p1", "/", html, start=True)
    exploration = found.folder.exploration
    found.folder.end(exploration.model_copy(update={"ended_by": "done", "ended_at": exploration.started_at}))
    result = CliRunner().invoke(app, ["--redraw", str(folder.path), "--json"])
    assert result.exit_code == 0, result.output
    assert len(json.loads(result.output)["screens"]) == 1
    assert "{secret:" not in "".join(each.read_text() for each in folder.knowledge.rglob("*.yaml"))


@pytest.mark.parametrize("ended_by", ["time", "stopped", None])
def test_the_summary_says_how_to_go_on(tmp_path: Path, ended_by: str | None) -> None:
    folder = seen(tmp_path / "map", ended_by)
    result = CliRunner().invoke(app, ["--redraw", str(folder.path)])
    assert result.exit_code == 0
    assert f"--out {folder.path} --resume" in result.output
    assert f"periplus kb load {folder.knowledge}" in result.output


def test_the_summary_names_a_goal_that_one_reaches_signed_in(tmp_path: Path) -> None:
    found = drawing(tmp_path / "exploration")
    frame = "<nav><a href='/'>Quay</a><a href='/boats'>Boats</a><a href='/log'>Log</a></nav>"
    found.page(
        "p1", "/", f"{frame}<main><h1>Quay</h1><p><a href='/boats'>All boats</a></p></main>", start=True
    )
    found.page("p2", "/boats", f"{frame}<main><h1>Boats</h1><label>Find <input></label></main>")
    found.page("p3", "/log", f"{frame}<main><h1>Log</h1><table><tr><td>1</table></main>")
    found.page("p4", "/help", "<main><h1>Help</h1><dl><dt>Who<dd>All</dl></main>", signed_in=False)
    for page in ("p1", "p3"):
        found.went(page, "Boats", "p2")
    found.went("p2", "Quay", "p1")
    found.went("p3", "Quay", "p1")
    found.went("p2", "Log", "p3")
    exploration = found.folder.exploration
    found.folder.end(exploration.model_copy(update={"ended_by": "done", "ended_at": exploration.started_at}))
    result = CliRunner().invoke(app, ["--redraw", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert result.output.strip().splitlines()[-1].strip() in (
        "periplus run --goal boats",
        "periplus run --goal quay",
    )


@pytest.mark.parametrize("reason", [DISALLOWED, "it is behind the limit of pages"])
def test_the_summary_says_how_to_open_what_robots_txt_disallows_if_it_disallows_anything(
    tmp_path: Path, reason: str
) -> None:
    folder = seen(tmp_path / "map")
    exploration = folder.exploration.exploration
    left = (UnexploredItem(page_id="p1", offer_id="o1", reason=reason),)
    folder.exploration.end(exploration.model_copy(update={"unexplored": left}))
    result = CliRunner().invoke(app, ["--redraw", str(folder.path)])
    assert result.exit_code == 0, result.output
    said = "robots.txt disallows addresses: --ignore-robots opens them, if the site is yours"
    assert (said in " ".join(result.output.split())) == (reason == DISALLOWED)


def test_loading_is_done_at_once_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    folder = seen(tmp_path / "map")
    result = CliRunner().invoke(app, ["--redraw", str(folder.path), "--load"])
    assert result.exit_code == 0, result.output
    assert "periplus kb load" not in result.output
    assert "loaded       quay, generation 1" in result.output
    assert list((tmp_path / "data").iterdir())


def test_where_there_is_no_terminal_the_view_says_it_in_lines() -> None:
    said = io.StringIO()
    with MapView(Console(file=said, width=200), "map of quay") as view:
        view(PageFound("p1", "Quay", SITE, 3, 0))
        view(TransitionAttempted("p1", "Log", "arrived", "p1", 12.0))
        view(PageFound("p2", "Quay", SITE + "#/boats", 2, 1))
        view(TransitionAttempted("p1", "Boats", "arrived", "p2", 12.0))
        view(OfferSkipped("p1", "Sink her", 'deletes: is called "sink"'))
        view(ExplorationWaiting(1.0, "to be polite"))
        view(ExplorationProgress(1, 1, 0, 2.0))
        view(ExplorationEnded("done", 1, 1))
    lines = said.getvalue().splitlines()
    assert lines[0] == "  + Quay  https://quay.example/  (3 controls)"
    assert lines[1] == "  > Quay (/): Log -> opened Quay (/)"
    assert lines[3] == "  > Quay (/): Boats -> opened Quay (/#/boats)", "pages of one title are told apart"
    assert (
        lines[-1]
        == "explored: 1 page, 1 control tried; everything that may be tried was tried, of similar pages a few"
    )


def test_in_a_terminal_the_map_grows_and_what_a_site_says_is_only_words() -> None:
    console = Console(file=io.StringIO(), width=120, force_terminal=True, record=True)
    with MapView(console, "map of [red]quay") as view:
        view(PageFound("p1", "Quay [bold]", SITE + "boats", 3, 0))
        view(PageFound("p2", "Ada\x1b[2J", SITE + "boats/12", 3, 1))
        view(PageFound("p3", "Bea", SITE + "boats/13", 3, 1))
        console.print(view._render())
    shown = console.export_text()
    assert "Quay [bold]  /boats" in shown
    assert "/boats/*  x2" in shown
    assert "map of [red]quay" in shown
    assert "\x1b[2J" not in shown


def test_a_session_is_kept_as_playwright_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text('{"cookies": [], "origins": []}')
    assert sign_in_by_storage_state(file).state == {"cookies": [], "origins": []}
    for wrong in ("{", "[]", '{"cookies": 1}'):
        file.write_text(wrong)
        with pytest.raises(UserError):
            sign_in_by_storage_state(file)
    with pytest.raises(UserError):
        sign_in_by_storage_state(tmp_path / "missing.json")


FORM = "POST https://quay.example/login"


def offer(number: int, name: str, kind: str, action: str = "fill", **more: object) -> Offer:
    return Offer.model_validate(
        {
            "offer_id": f"o{number}", "action_type": action, "name": name, "label": name, "kind": kind, "form": FORM,
            "selector": {"type": "id", "value": f"f{number}"}, **more,
        }
    )  # fmt: skip


def test_knowledge_that_somebody_changed_is_not_drawn_over_unasked(tmp_path: Path) -> None:
    folder = seen(tmp_path)
    assert CliRunner().invoke(app, ["--redraw", str(tmp_path)]).exit_code == 0
    assert CliRunner().invoke(app, ["--redraw", str(tmp_path)]).exit_code == 0  # as it was drawn
    screen = next((folder.knowledge / "screens").iterdir())
    mine = screen.read_text() + "\n# mine\n"
    screen.write_text(mine)
    refusal = refused("--redraw", str(tmp_path))
    assert screen.name in str(refusal)
    assert screen.read_text() == mine
    assert "screens" in str(refused(SITE, "--resume", "--out", str(tmp_path)))  # before a browser is opened
    assert CliRunner().invoke(app, ["--redraw", str(tmp_path), "--force"]).exit_code == 0
    assert screen.read_text() != mine


def test_of_a_sitemap_one_address_of_each_place_is_a_hint(tmp_path: Path) -> None:
    file = tmp_path / "sitemap.txt"
    own = [f"{SITE}boats/1", f"{SITE}boats/2", f"{SITE}logout", f"{SITE}terms", "https://other.example/"]
    file.write_text("\n".join(own))
    hints, notes = select_sitemap_addresses(file, ("https://quay.example",))
    assert hints == (f"{SITE}boats/1", f"{SITE}terms")
    assert notes == [
        "left out: 1 of other origins",
        "left out: 1 that might change something",
    ]
    file.write_text("https://other.example/")
    with pytest.raises(UserError, match="contains no address of"):
        select_sitemap_addresses(file, ("https://quay.example",))


def test_inputs_find_their_fields_by_what_they_are() -> None:
    search = offer(0, "Search", "text", form="GET https://quay.example/search")
    mail, word = offer(1, "Email address", "email"), offer(2, "Kennwort", "password")
    button, other = offer(3, "Go on", "submit", "click"), offer(4, "Show", "button", "click")
    page = [search, mail, word, other, button]
    assert find_fields(["email", "password"], page) == {"email": mail, "password": word}
    assert find_fields(["user"], page) == {"user": mail}  # who it is, beside the password
    assert find_fields(["title", "email", "password"], page) == {"email": mail, "password": word}
    assert find_fields(["otp"], [search]) == {}
    assert find_submit_button(word, page) == button


def test_of_two_forms_the_fields_that_are_named_are_meant() -> None:
    register = offer(1, "Password", "password", selector={"type": "id", "value": "registration-password1"})
    user = offer(2, "Email address", "text", selector={"type": "id", "value": "login-username"})
    word = offer(3, "Password", "password", selector={"type": "id", "value": "login-password"})
    page = [register, user, word]
    assert find_fields(["login-username", "login_password"], page) == {
        "login-username": user,
        "login_password": word,
    }
    assert find_fields(["password"], page) == {"password": register}


def test_links_and_buttons_to_a_login_form_are_known_by_words_and_by_addresses() -> None:
    said = offer(1, "Sign in", "button", "click")
    led = offer(2, "My account", "link", "click", href="https://quay.example/users/sign_in")
    page = [offer(0, "Boats", "link", "click", href="https://quay.example/boats"), led, said]
    assert find_sign_in_controls([*page, offer(3, "Log in", "submit", "click")]) == [said, led]


@pytest.mark.parametrize(
    ("name", "href", "leads"),
    [
        ("Log in to cancel subscription", None, False),
        ("Log in and pay", None, False),
        ("Log in to delete your account", "/gone", False),
        ("Einloggen und Konto löschen", None, False),
        ("Log in to your account", None, True),
        ("Log in with Google", None, True),
        ("Log in to order tickets", "/login", True),
    ],
)
def test_a_control_that_signs_in_in_order_to_do_harm_is_no_way_to_the_form(name, href, leads) -> None:
    found = find_sign_in_controls([offer(1, name, "link" if href else "button", "click", href=href)])
    assert bool(found) is leads


def test_what_is_gone_on_with_is_asked_as_it_was_where_nothing_else_is_given(tmp_path: Path) -> None:
    from periplus.commands.map import _apply_limits, _plan  # noqa: PLC0415 - not for others

    folder = seen(tmp_path / "map")
    exploration: Exploration = ExplorationFolder(folder.exploration.path).exploration
    limits = exploration.limits.model_copy(update={"states": 7, "depth": 2})
    told = {"limits": limits, "allowed": ("Continue",), "robots": False, "signed_in_by": "form"}
    folder.exploration.end(exploration.model_copy(update=told))
    plan = _plan(SITE, None, None, folder.path, None, None, 0, robots=True)
    again = _apply_limits(
        plan, {"states": 9, "depth": None, "seconds": None, "per_second": None}, resume=True
    )
    assert (again.limits.states, again.limits.depth) == (9, 2)
    assert (again.website_id, again.allowed, again.robots) == ("quay", ("Continue",), False)


def test_the_summary_tells_of_requests_that_were_not_sent_and_of_controls_that_were_left_out(
    tmp_path: Path,
) -> None:
    folder = MapFolder(tmp_path / "map")
    found = drawing(folder.exploration.path)
    held = {"held_back": ("POST /api/views",), "reads": ("POST /api/runs/filter",), "left_out": 7}
    found.page("p1", "/", "<main><h1>Quay</h1></main>", title="The quay", start=True, **held)
    result = CliRunner().invoke(app, ["--redraw", str(folder.path)])
    said = " ".join(result.output.split())
    assert "POST /api/views was not sent, on 1 page such as The quay" in said
    assert "--reads /api/views if it only reads" in said
    assert "POST /api/runs/filter was sent, on 1 page: it reads" in said
    assert "7 controls more on 1 page such as The quay were left out" in said
