"""Signatures learned from pages: taken where they would have been right about runs held back, else refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema.conditions import Condition
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.url_patterns import matches_pattern
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_clusters import cluster_pages
from loaders.screen_learner.screen_names import choose_free_id, choose_name
from loaders.screen_learner.signature_learner import (
    LearnedSignature,
    SignatureNotLearned,
    learn_joined_signatures,
    learn_signature,
    learn_signatures,
)
from loaders.screen_learner.url_patterns import pattern_of
from tests.support.pages import NamedElements
from web_pages.page_profiles import build_page_profile
from web_pages.stored_pages import StoredPage, evaluate

FRAME = "<header><h2>Quay</h2><a href=/>Home</a></header>"
RUNS = ("a", "b", "c")


def stored(body: str, path: str = "/") -> StoredPage:
    html = f"<html><body>{FRAME}<main>{body}</main></body></html>"
    return StoredPage(PageSnapshot(url=f"https://quay.example{path}", html=html))


def seen(body: str, path: str, run: str, screen: str | None = None, step: int | None = None) -> ObservedPage:
    return ObservedPage(build_page_profile(stored(body, path)), path, run, screen, step)


def boats(run: str) -> ObservedPage:
    listed = "".join(f"<li><h3>Boat {run}{number}</h3></li>" for number in range(3))
    return seen(f"<h1>Boats</h1><button>Add</button><ul>{listed}</ul>", "/boats", run, "boats")


def boat(run: str, number: int, more: str = "") -> ObservedPage:
    form = f"<h1>Boat</h1><h2>{run} of {number}</h2><label>Length <input></label><button>Save</button>{more}"
    return seen(form, f"/boats/{number}", run, "boat")


def words(condition: Condition) -> list[str]:
    parts = getattr(condition, "conditions", (condition,))
    return [str(getattr(each, "value", None) or each.element.strategies[0].name) for each in parts]


def told(learned: LearnedSignature) -> set[str]:
    return {said for each in learned.signature.positive for said in words(each)}


def test_a_signature_says_what_is_on_all_pages_of_a_screen_and_on_few_others_and_nothing_of_their_data():
    pages = [page for number, run in enumerate(RUNS) for page in (boats(run), boat(run, 7 + number))]
    learned = learn_signature("boat", pages)
    assert told(learned) == {"Length", "Save"}
    assert [words(each) for each in learned.signature.required_indicators] == [["Length", "Save"]]
    assert matches_pattern(learned.url_pattern, "https://quay.example/boats/99?tab=1")
    assert not matches_pattern(learned.url_pattern, "https://quay.example/boats")
    assert (learned.pages, learned.runs, learned.others) == (3, 3, 3)
    assert learned.proven


def nowhere(run: str, path: str, screen: str) -> ObservedPage:
    return seen(f"<h1>{run}</h1>", path, run, screen)


@pytest.mark.parametrize(
    ("pages", "reason"),
    [
        ([boat("a", 1), boat("a", 2), boats("b")], "seen in 1 run only"),
        ([boat("a", 1), nowhere("b", "/x/y/z", "boat"), boats("c")], "no lasting feature"),
        (
            [each for run in RUNS for each in (nowhere(run, "/q", "boat"), nowhere(run, "/q", "ship"))],
            "nothing distinguishes it from ship at the same address",
        ),
    ],
)
def test_what_cannot_be_learned_is_refused_with_the_reason(pages: Sequence[ObservedPage], reason: str):
    with pytest.raises(SignatureNotLearned, match=reason):
        learn_signature("boat", pages)


def test_where_a_page_says_little_what_little_it_says_is_taken():
    pages = [each for run in RUNS for each in (seen("<p>Hello</p>", "/boats", run, "boat"), boats(run))]
    assert told(learn_signature("boat", pages)) == {"Hello"}


def test_a_sign_that_only_the_other_runs_have_does_not_pass_on_the_run_held_back():
    odd = seen("<h1>Boats</h1><p>Strike: no boats today</p>", "/boats/3", "c", "boat")
    with pytest.raises(SignatureNotLearned, match=r"miss /boats/3 of c"):
        learn_signature("boat", [boat("a", 1), boat("b", 2), odd, *map(boats, RUNS)])


def test_of_two_screens_at_one_address_each_is_told_by_what_the_other_does_not_show():
    def asked(run: str) -> ObservedPage:
        return seen("<h1>Boats</h1><h2>Are you sure?</h2><button>Add</button>", "/boats", run, "asked")

    pages = [each for run in RUNS for each in (boats(run), asked(run))]
    assert told(learn_signature("asked", pages)) >= {"Are you sure?"}
    without = learn_signature("boats", pages).signature
    assert [each.value for each in without.negative_indicators] == ["Are you sure?"]
    shown = stored("<h1>Boats</h1><h2>Are you sure?</h2><button>Add</button>", "/boats")

    class Nothing:
        signed_in_when = ()

        def element(self, reference):
            return reference

    assert evaluate(shown, list(without.negative_indicators), Nothing())[0].held


def test_pages_of_one_address_are_one_screen_unless_they_have_little_in_common():
    form = "<h1>Sign in</h1><label>Email <input id=email></label><label>Word <input id=word></label>"
    pages = [
        seen(form, "/in", "a"),
        seen(form + "<h2>Wrong word</h2>", "/in?again=1", "b"),
        seen("<h1>Closed</h1><h2>Back at nine</h2>", "/in", "c"),
        boat("a", 1),
        boat("b", 20),
    ]
    assert cluster_pages(pages) == [[0, 1], [2], [3, 4]]


def test_pages_on_which_different_runs_did_the_same_are_one_screen_if_they_are_alike():
    def ship(name: str, run: str, step: int) -> ObservedPage:
        return seen("<h1>Ship</h1><label>Length <input id=l></label>", f"/ships/{name}", run, step=step)

    def port(run: str) -> ObservedPage:
        return seen("<h1>Port</h1><label>Depth <input id=d></label>", "/ports/kiel", run, step=4)

    pages = [ship("vasa", "a", 3), ship("wasa", "b", 3), ship("hero", "c", 4), port("d")]
    assert cluster_pages(pages) == [[0, 1, 2], [3]]
    assert pattern_of(page.path for page in pages[:2]) == "^/ships/[^/?#]+/?(?:[?#].*)?$"


def test_a_screen_is_called_by_its_first_heading_else_its_title_another_heading_its_address():
    other = [seen("<h1>Home</h1><h2>News</h2>", "/", "a")]
    assert choose_name([seen("<h3>Recent</h3><h1>Boats</h1>", "/boats", "a")], other) == "Boats"
    html = "<html><head></head><body>hello</body></html>"
    page = StoredPage(PageSnapshot(url="https://quay.example/x", title="Log in | Quay", html=html))
    assert choose_name([ObservedPage(build_page_profile(page), "/x", "a")], other) == "Log in"
    page = StoredPage(
        PageSnapshot(url="https://quay.example/x", title="AI boats | Quay", html="<h2>Hulls</h2>")
    )
    assert choose_name([ObservedPage(build_page_profile(page), "/x", "a")], other) == "AI boats"
    assert choose_name([seen("<h2>Hulls</h2>", "/x", "a")], other) == "Hulls"
    assert choose_name([seen("hello", "/boats/lost-found", "a")], other) == "Boats lost found"
    assert choose_free_id("Überseehafen / 7", {"berseehafen_7"}) == "berseehafen_7_2"


_parts = st.lists(
    st.sampled_from(["boats", "7", "new", "a.b", "x(y", "ticket-204", "ä+b"]), min_size=1, max_size=4
)


@given(_parts, st.sampled_from(["", "?q=1", "#top", "?q=1#top", "#/in/box", "#!/in"]))
def test_a_pattern_matches_the_address_it_was_made_of_and_nothing_below_it(parts, rest):
    path = f"/{'/'.join(parts)}{rest}"
    pattern = pattern_of([path])
    assert pattern is not None
    assert matches_pattern(pattern, path)
    assert not matches_pattern(pattern, f"/{'/'.join(parts)}/below{rest}")
    if rest.startswith("#"):
        assert matches_pattern(pattern, f"/{'/'.join(parts)}?later=1{rest}")


def message(kind: str, text: str) -> str:
    return f'<div class="notice {kind}">{text}</div>'


def form(number: int, more: str = "") -> str:
    words = ("Larch", "Moss", "Granite", "Copper", "Thistle", "Quarry")[number]
    return f"<h1>Boat</h1>{more}<label>Length <input value={words}></label><button>Save</button>"


def listed(number: int) -> str:
    cells = "".join(f"<tr><td>{each}</td></tr>" for each in range(number))
    return f'<h1>Boats</h1><table class="boats"><thead><tr><th>Name</th></tr></thead><tbody>{cells}</tbody></table>'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (form, lambda n: form(n, message("error", f"{n} metres are too few"))),
        (lambda n: form(n, message("success", "Saved")), lambda n: form(n, message("error", f"{n} is too short"))),
        (form, lambda n: form(n).replace("<input", "<input aria-invalid=true")),
        (form, lambda n: form(n, f"<span>Nothing was changed</span><i>{n}</i>")),
        (lambda n: listed(n + 1), lambda n: listed(0)),
    ],
)  # fmt: skip
def test_states_at_one_address_that_were_sorted_as_screens_are_told_apart(
    one: Callable[[int], str], other: Callable[[int], str]
):
    pages = [
        seen(body(number), f"/boats/{number}", f"{name}{number}", name)
        for number in range(3)
        for name, body in (("one", one), ("other", other))
    ]
    found = learn_signatures(pages)
    assert not found.refused
    for name, body in (("one", one), ("other", other)):
        page = stored(body(5), "/boats/5")
        accepted = {
            screen
            for screen, learned in found.learned.items()
            if all(
                verdict.held
                for verdict in evaluate(page, learned.signature.required_indicators, NamedElements())
            )
            and not any(
                verdict.held
                for verdict in evaluate(page, learned.signature.negative_indicators, NamedElements())
            )
        }
        assert accepted == {name}


def goal(name: str, body: str = "") -> ObservedPage:
    address = name.replace(" ", "%20")
    return seen(f"<main><h1>Goal {name}</h1>{body}</main>", f"/goals/{address}", name)


def test_pages_that_are_named_like_their_addresses_are_one_screen_whatever_they_contain():
    table = "<h2>Open</h2><label>Group by <select id=by></select></label><table><th>Jobs</th></table>"
    pages = [goal("Spring", table), goal("Summer party"), goal("Winter", table)]
    elsewhere = [seen("<main><h1>Goals</h1></main>", "/goals", "a"), boat("b", 1)]
    assert cluster_pages([*pages, *elsewhere]) == [[0, 1, 2], [3], [4]]


def test_actions_and_sections_with_fields_of_their_own_are_not_named_like_one_thing():
    pages = [
        seen("<main><h1>Goal add</h1><input id=name></main>", "/goals/add", "a"),
        seen("<main><h1>Goal delete</h1></main>", "/goals/delete", "b"),
        seen("<main><h1>Settings Mail</h1><label>Host <input id=host></label></main>", "/settings/Mail", "c"),
        seen("<main><h1>Settings Look</h1><label>Size <input id=size></label></main>", "/settings/Look", "d"),
    ]
    assert cluster_pages(pages) == [[0], [1], [2], [3]]


def test_a_page_of_one_of_many_things_that_shows_a_part_of_another_is_the_same_screen():
    shown = "<h1>Ticket</h1><h2>Description</h2><h2>Attachments</h2><section id=ticketbox></section><p id=owner></p>"
    form = "<form><h2>Modify</h2><textarea id=comment></textarea><label>Owner <input id=who></label><button>Submit</button>"
    form += "<label>Kind <input id=kind></label><label>Copy to <input id=cc></label><h3>Preview</h3></form>"
    pages = [
        seen(f"{shown}{form}", "/ticket/1", "a"),
        seen(shown, "/ticket/2", "b"),
        seen("<h1>Sign in first</h1>", "/ticket/3", "c"),
    ]
    assert cluster_pages(pages) == [[0, 1], [2]]


def test_a_signature_that_fails_on_most_of_the_pages_that_are_held_back_is_refused_with_the_reason():
    found = learn_joined_signatures(
        [
            *(
                seen(f"<h1>{name}</h1><p>{name}</p>", f"/{name}", name, "odd")
                for name in ("Larch", "Moss", "Copper", "Granite")
            ),
            *(boat(run, number) for number, run in enumerate(RUNS)),
        ]
    )
    assert found.learned.keys() == {"boat"}
    assert found.refused.keys() == {"odd"}


@pytest.mark.parametrize(
    ("missed", "taken_in", "failed"), [(0, 0, False), (2, 0, False), (3, 0, True), (0, 1, True)]
)
def test_a_signature_failed_if_it_missed_most_or_accepted_another(missed: int, taken_in: int, failed: bool):
    made = learn_signature(
        "boat", [page for number, run in enumerate(RUNS) for page in (boats(run), boat(run, number))]
    )
    assert replace(made, held_out=4, missed=missed, taken_in=taken_in).failed is failed
    assert replace(made, held_out=4, missed=missed, taken_in=taken_in).proven is (missed == taken_in == 0)


def test_a_count_beside_the_name_of_a_control_is_no_sign():
    def letters(run: str, number: int, count: str) -> ObservedPage:
        rows = "".join(f"<p>{run} wrote {each}</p>" for each in range(number))
        return seen(f"<h1>Home</h1>{count}{rows}", "/home", run, "letters" if count else "empty")

    pages = [
        letters(run, 2 + at, "<button>Letters 4</button><button>Write one</button>")
        for at, run in enumerate(RUNS * 2)
    ] + [letters(run, 3, "") for run in RUNS]
    assert told(learn_signature("letters", pages)) == {"Write one"}
