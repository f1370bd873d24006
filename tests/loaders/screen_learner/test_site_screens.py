"""All screens of a site at once: which pages are one, how each is known, what nobody has seen is not taken for it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_schema import SourcedDocument, assemble
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.screens import Screen
from kb_schema.websites import Website
from loaders.screen_learner.observed_pages import ObservedPage
from loaders.screen_learner.page_clusters import cluster_pages
from loaders.screen_learner.signature_learner import LearnedScreens, learn_signatures
from loaders.screen_learner.url_patterns import AddressSlots, fits, pattern_of, patterns_for
from mcp_server.identification.screen_identification import identify
from mcp_server.knowledge.compiled_view import compile_view
from web_pages.page_profiles import build_page_profile
from web_pages.stored_pages import StoredPage, answer_probes

BASE = "https://yard.example"
FRAME = (
    "<header><a href=/>The yard</a></header><nav aria-label=Main><a href=/ship>Ships</a>"
    "<a href=/crew>Crews</a></nav>"
)
MODELS = {"ship": ("Length", "Draught"), "crew": ("Captain", "Hands")}
NAMES = ("Vasa", "Argo", "Hero", "Rigel", "Otter", "Pilar")


def table(columns: Sequence[str], rows: Sequence[str]) -> str:
    if not rows:
        return "<p>Nothing here yet.</p>"
    heads = "".join(f"<th>{column}</th>" for column in columns)
    cells = "".join(f"<tr><td><a href=/x>{row}</a></td><td>{len(row)}</td></tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table>"


def form(fields: Sequence[str], values: Sequence[str] = (), error: bool = False) -> str:
    wrong = "<ul class=errors><li>This field is required.</li></ul>" if error else ""
    inner = "".join(
        f"<label for={name.lower()}>{name}</label>"
        f"<input id={name.lower()} name={name.lower()} value='{values[at] if values else ''}'>"
        for at, name in enumerate(fields)
    )
    return f"<form method=post>{wrong}{inner}<button>Save</button></form>"


def site(word: str, seed: int = 0) -> list[tuple[str | None, str, str, str]]:
    """Screen, address, title and body of every page, with other data for every seed."""
    draw = random.Random(seed)
    found: list[tuple[str | None, str, str, str]] = [
        (None, f"/{word}/gone", "Not found", "<h1>Page not found</h1><p>There is no such page.</p>"),
        (None, f"/away-{seed}", "Not found", "<h1>Page not found</h1><p>There is no such page.</p>"),
    ]
    found = [("not_found", *each[1:]) for each in found]
    for model, fields in MODELS.items():
        called = model.capitalize()
        for rows in ((), draw.sample(NAMES, 2), draw.sample(NAMES, 4)):
            body = f"<h1>{called}s of the yard</h1><button>Add {model}</button><label>Search <input name=q></label>{table(('Name', *fields), rows)}"
            found.append((f"{model}_list", f"/{model}?page={seed}{len(rows)}", f"{called}s", body))
        found.append((f"{model}_add", f"/{model}/add", f"Add {model}", f"<h1>Add {model}</h1>{form(fields)}"))
        found.append(
            (
                f"{model}_add",
                f"/{model}/add",
                f"Add {model}",
                f"<h1>Add {model}</h1>{form(fields, error=True)}",
            )
        )
        for number, name in enumerate(draw.sample(NAMES, 3)):
            at = f"/{model}/{seed * 10 + number + 1}"
            body = f"<h1>Change {model}: {name}</h1>{form(fields, [name, '7'])}<button>Delete</button>"
            found.append((f"{model}_change", f"{at}/change", f"Change {name}", body))
            told = f"<h1>History: {name}</h1><h2>What was done to this {model}</h2>{table(('When', 'Who'), [name])}"
            found.append((f"{model}_history", f"{at}/history", f"History of {name}", told))
        for step, fields_of_it in (("Kind", ("Sort",)), ("Size", ("Width", "Height")), ("Done", ())):
            body = f"<h1>Order a {model}</h1><h2>{step}</h2>{form(fields_of_it) if fields_of_it else '<p>Thank you.</p><button>Again</button>'}"
            for _ in range(2):
                found.append((f"{model}_{step.lower()}", f"/{model}/order?x={draw.random()}", "Order", body))
    return found


@cache
def snapshot(path: str, title: str, body: str) -> StoredPage:
    html = f"<html><head><title>{title}</title></head><body>{FRAME}<main>{body}</main></body></html>"
    return StoredPage(PageSnapshot(url=f"{BASE}{path}", title=f"{title} | The yard", html=html))


def observed(word: str = "some", seed: int = 1) -> list[ObservedPage]:
    return [
        ObservedPage(build_page_profile(snapshot(path, title, body)), path, f"{seed}-{at}", screen)
        for at, (screen, path, title, body) in enumerate(site(word, seed))
    ]


def bare(pages: Sequence[ObservedPage]) -> list[ObservedPage]:
    return [replace(page, screen=None, run="one") for page in pages]


def partition(pages: Sequence[ObservedPage]) -> set[frozenset[str]]:
    return {
        frozenset(pages[at].run for at in group)
        for group in cluster_pages([replace(p, screen=None) for p in pages])
    }


def known_by(learned: LearnedScreens, path: str, title: str, body: str) -> str | None:
    documents = [Website(website_id="yard", name="Yard", base_url=BASE)]
    screens = [
        Screen(screen_id=name, name=name, url_patterns=each.url_patterns, state_signature=each.signature)
        for name, each in learned.learned.items()
    ]
    knowledge, problems = assemble([SourcedDocument(each) for each in (*documents, *screens)])
    assert not problems
    answer = identify(compile_view(knowledge, "1"), snapshot(path, title, body), answer_probes)
    return None if answer.ambiguous else answer.screen_id


def test_pages_are_grouped_into_the_screens_of_the_site_whatever_their_rows():
    pages = [*observed(), *observed("other", 2)]
    groups = cluster_pages(bare(pages))
    named = [{pages[at].screen for at in group} for group in groups]
    assert all(len(names) == 1 for names in named), [names for names in named if len(names) > 1]
    assert len(groups) == len({page.screen for page in pages})


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_grouping_knows_no_order_and_pages_that_are_there_twice_change_nothing(chance, times):
    pages = observed()
    mixed = pages * times
    chance.shuffle(mixed)
    assert partition(mixed) == partition(pages)


def test_names_of_one_kind_in_addresses_are_one_screen_and_names_of_two_kinds_are_not():
    def ship(name: str, below: str = "") -> ObservedPage:
        body = (
            f"<h1>{name}</h1>{form(('Length', 'Draught'))}"
            if below
            else f"<h1>{name}</h1><h2>Log</h2><button>Sail</button>"
        )
        path = f"/fleet/{name.lower()}{below}"
        return ObservedPage(build_page_profile(snapshot(path, name, body)), path, name + below)

    pages = [ship(name, below) for name in NAMES for below in ("", "/edit")]
    settings_page = ObservedPage(
        build_page_profile(snapshot("/fleet/rules", "Rules", f"<h1>Rules</h1>{form(('Limit', 'Fine'))}")),
        "/fleet/rules",
        "rules",
    )
    found = partition([*pages, settings_page])
    assert found == {
        frozenset(NAMES), frozenset(f"{name}/edit" for name in NAMES), frozenset({"rules"}),
    }  # fmt: skip


def look(path: str, body: str, title: str = "") -> ObservedPage:
    return ObservedPage(build_page_profile(snapshot(path, title or "Yard", body)), path, path)


LEFT = "".join(f"<p class=menu-{at}><i class=icon-{at}></i></p>" for at in range(20))
"""What stands on every page, and is most of how each is built."""


def test_words_with_a_number_behind_them_name_things_however_much_their_pages_differ():
    def product(slug: str, *more: str) -> ObservedPage:
        body = f"<h1>{slug}</h1><h2>Description</h2><form><button>Add to cart</button></form>{''.join(more)}"
        return look(f"/goods/{slug}/", body)

    review = "<h2>Reviews</h2><div class=stars><p class=score>4</p></div>"
    alert = "<form class=alert><label>Mail <input name=mail></label><button>Tell me</button></form>"
    pages = [product("hand-trowel_8"), product("steel-rake_9", review), product("blue-pot_1", review, alert)]
    pages += [look("/goods/", "<h1>All goods</h1><button>Filter</button>"), look("/cart/", "<h1>Cart</h1>")]
    assert cluster_pages(pages) == [[0, 1, 2], [3], [4]]


def test_adding_is_another_screen_than_editing_though_both_have_the_same_form():
    fields = form(("Street", "Town"))
    pages = [look("/places/", "<h1>Places</h1><a href=/places/add/>Add</a>"), look("/crew/", "<h1>Crew</h1>")]
    pages += [look(f"/places/{number}/", f"<h1>Edit place</h1>{fields}") for number in (1, 2)]
    pages += [look("/places/add/", f"<h1>Add a place</h1>{fields}")]
    assert cluster_pages(pages) == [[0], [1], [2, 3], [4]]


def test_a_folder_in_a_folder_is_the_same_screen():
    paths = ("old-tools_1", "my-seeds_2", "my-seeds_2/dry-herbs_3", "my-seeds_2/dry-herbs_3/red-mint_4")
    items = "".join(f"<li><a href=/shelf/{path}/>{path}</a></li>" for path in paths)

    def shelf(path: str) -> ObservedPage:
        body = f"<h4>What is here</h4><button>Sort</button><ul class=shelf>{items}</ul>"
        return look(f"/shelf/{path}/", f"<h1>{path}</h1>{body}")

    pages = [shelf(path) for path in paths]
    pages += [look("/cart/", "<h1>Cart</h1><h4>What is here</h4>"), look("/shelf/help/", "<h1>Help</h1>")]
    pages += [look("/me/", "<h1>Me</h1><label>Name <input name=me></label>"), look("/log/", "<h1>Log</h1>")]
    assert cluster_pages(pages) == [[0, 1, 2, 3], [4], [5], [6], [7]]


def test_sections_of_a_site_are_told_by_what_is_theirs_and_not_by_the_frame_around_them():
    def section(name: str, body: str) -> ObservedPage:
        return look(f"/account/{name}", f"{LEFT}<h1>Account</h1>{body}", "Account")

    pages = [
        section("profile", "<dl class=facts><dt>Name</dt><dd>Ada</dd></dl><p class=since>2024</p>"),
        section("alerts", "<div class=empty><p class=none>None yet.</p></div>"),
        *(look(f"/{name}/list", f"{LEFT}<h1>{name}</h1>{table(('A', name), ['x'])}") for name in MODELS),
        *(look(f"/{name}/1/log", f"{LEFT}<h1>Log</h1><h2>{name}</h2>{form((name,))}") for name in MODELS),
    ]
    assert [0] in cluster_pages(pages)
    assert [1] in cluster_pages(pages)


def test_every_screen_is_learned_and_tells_pages_with_other_data_that_nobody_showed():
    pages = observed()
    learned = learn_signatures(pages)
    assert not learned.refused
    unproven = {name for name, each in learned.learned.items() if not each.proven}
    assert unproven == {"ship_add", "crew_add"}, "whose pages say the same: none can be held back"
    wrong = [
        (screen, path, told)
        for screen, path, title, body in site("other", 7)
        if (told := known_by(learned, path, title, body)) != screen
    ]
    assert wrong == []


def test_a_screen_that_nobody_labelled_is_not_taken_for_one_that_is_nearly_the_same():
    for left_out in ("ship_change", "ship_history", "ship_size", "crew_list"):
        learned = learn_signatures([page for page in observed() if page.screen != left_out])
        told = [known_by(learned, *each[1:]) for each in site("some", 1) if each[0] == left_out]
        assert set(told) == {None}, left_out


def test_a_page_is_known_with_a_dialog_open_and_a_banner_above_it():
    learned = learn_signatures(observed())
    over = "<div role=alert>Saved.</div><div role=dialog aria-label=News><h2>Our letter</h2><label>Email <input name=mail></label></div>"
    for screen, path, title, body in site("some", 1):
        assert known_by(learned, path, title, over + body) == screen


def test_signatures_are_the_same_whatever_the_order_of_the_pages_and_however_often_each_is_there():
    pages = observed()
    mixed = [*pages, *pages]
    random.Random(5).shuffle(mixed)
    one, other = learn_signatures(pages), learn_signatures(mixed)
    assert {n: (e.url_patterns, e.signature) for n, e in one.learned.items()} == {
        n: (e.url_patterns, e.signature) for n, e in other.learned.items()
    }


def test_signatures_rely_on_no_data():
    told = " ".join(
        each.model_dump_json()
        for learned in learn_signatures(observed()).learned.values()
        for each in (*learned.signature.positive, *learned.signature.negative_indicators)
    )
    assert not [name for name in NAMES if name in told]


def test_a_screen_seen_once_is_learned_and_says_so():
    pages = {page.screen: page for page in observed()}
    learned = learn_signatures(list(pages.values()))
    assert set(learned.learned) == set(pages)
    assert all("one page only" in each.evidence and not each.proven for each in learned.learned.values())
    assert learn_signatures(list(pages.values()), least_pages=2).learned == {}


def test_pages_of_no_screen_are_told_from_those_that_look_like_them():
    def page(body: str, screen: str | None, number: int) -> ObservedPage:
        return ObservedPage(
            build_page_profile(snapshot(f"/box/{number}", "Box", body)), f"/box/{number}", str(number), screen
        )

    box = "<h1>Box</h1><label>Lid <input name=lid></label>"
    pages = [page(box, "box", n) for n in (1, 2, 3)]
    pages += [page(f"{box}<h2>Locked for inventory</h2>", None, n) for n in (4, 5)]
    (learned,) = learn_signatures(pages).learned.values()
    assert learned.signature.negative_indicators
    assert learned.proven


@pytest.mark.parametrize(
    ("own", "rivals", "fitting", "other"),
    [
        (["/a/7", "/a/9"], [], ["/a/x", "/a/7/", "/a/7?y=1"], ["/a", "/a/7/b"]),
        (["/a/7", "/a/9"], ["/a/new"], ["/a/12"], ["/a/new"]),
        (["/i.php?do=list&p=1", "/i.php?do=list"], ["/i.php?do=show"], ["/i.php?p=2&do=list"], ["/i.php?do=show"]),
        (["/s?q=a", "/s?q=b"], ["/s"], ["/s?p=1&q=zz"], ["/s"]),
        (["/#/in/1", "/#/in/2"], [], ["/?z=1#/in/3"], ["/#/out/1", "/"]),
        (["/admin/#/"], [], ["/admin/"], ["/admin/#/buckets"]),
        (["/"], ["/#/inbox"], ["/#", "/?a=1", "/#top", "/#/"], ["/#/inbox", "/#!/sent"]),
        (["/", "/#/home"], ["/#/inbox"], ["/#/", "/#/home?a=1"], ["/#/inbox", "/#/home/1"]),
        (["/en/x", "/en/x/y"], [], ["/en/x"], ["/de/x"]),
    ],
)  # fmt: skip
def test_patterns_leave_open_what_varies_and_no_more(own, rivals, fitting, other):
    patterns = patterns_for(own, rivals, AddressSlots([own]))
    fit = [any(fits(pattern, path) for pattern in patterns) for path in (*own, *fitting)]
    if own[0] == "/en/x":
        assert patterns == ()  # every address has a form of its own: the next one will, too
        return
    assert all(fit), patterns
    assert not any(fits(pattern, path) for pattern in patterns for path in other)


def test_a_name_in_an_address_that_was_seen_once_is_understood_by_the_addresses_of_other_screens():
    slots = AddressSlots([["/boats/vasa", "/boats/argo"], ["/boats/vasa/log"]])
    assert patterns_for(["/boats/vasa/log"], [], slots) == ("^/boats/[^/?#]+/log/?(?:[?#].*)?$",)


def _articles() -> list[ObservedPage]:
    """Pages of a wiki, of which hardly two are built alike, and two pages with fields of their own below the same path."""
    contents = (
        "<p>Tools are kept dry.</p>",
        "<table><tr><th>Month</th><th>Sow</th></tr><tr><td>May</td><td>Beans</td></tr></table>" * 2,
        "<ol><li><b>Dig</b></li><li><i>Rake</i></li></ol><blockquote><q>Slowly.</q></blockquote>",
        "<dl><dt>Loam</dt><dd>Good</dd></dl><pre><code>ph = 7</code></pre><figure><img></figure>",
    )
    names = ("Tools", "Calendar", "Digging", "Soil")
    pages = [
        look(f"/wiki/{name}", f"<h1>{name}</h1><button>Edit</button><article>{content}</article>", name)
        for name, content in zip(names, contents, strict=True)
    ]
    return [*pages, look("/wiki/Import", f"<h1>Import</h1>{form(('File', 'Prefix'))}", "Import")]


def test_many_links_below_one_path_lead_to_articles_however_these_are_built():
    pages = [
        *_articles(),
        look("/log", "<h1>Log</h1>", "Log"),
        look("/me", f"<h1>Me</h1>{form(('Name',))}", "Me"),
    ]
    linked = [f"/wiki/Page{chr(65 + at)}" for at in range(12)]
    assert cluster_pages(pages, linked) == [[0, 1, 2, 3], [4], [5], [6]]
    assert len(cluster_pages(pages, linked[:3])) > 4


def test_what_an_address_asks_for_by_a_word_is_no_article():
    history = (
        "<section><h2>Versions</h2><h3>Authors</h3><aside><nav aria-label=Versions><span>1</span></nav></aside>"
        "<footer>{0}</footer><button>Edit</button></section>"
    )
    pages = [
        *_articles(),
        look("/log", "<h1>Log</h1>", "Log"),
        *(
            look(f"/wiki/{name}?action=history", history.format(name), name)
            for name in ("Tools", "Calendar", "Soil")
        ),
    ]
    linked = [f"/wiki/Page{chr(65 + at)}" for at in range(12)]
    assert cluster_pages(pages, linked) == [[0, 1, 2, 3], [4], [5], [6, 7, 8]]


def test_a_word_and_a_number_in_an_address_are_one_of_many_and_the_word_tells_the_kind():
    def issue(number: int, *more: str) -> ObservedPage:
        body = f"<h1>Issue {number}</h1>{form(('Title', 'State'))}{''.join(more)}"
        return look(f"/issue{number}", body, f"Issue {number}")

    files = (
        "<h2>Files</h2><table><tr><th>Name</th><th>Size</th></tr><tr><td><a><b>log</b></a></td></tr></table>"
    )
    votes = "<aside><ul><li><button>Vote</button></li></ul></aside><label>Comment <textarea name=comment></textarea></label>"
    pages = [issue(4), issue(40, files), issue(7, votes)]
    user = "<h2>Groups</h2><button>Send mail</button>"
    pages += [look(f"/user{number}", f"<h1>User {number}</h1>{user}", f"User {number}") for number in (1, 12)]
    assert cluster_pages(pages) == [[0, 1, 2], [3, 4]]
    assert pattern_of(["/issue40", "/issue4"]) == "^/issue[0-9]+/?(?:[?#].*)?$"
    assert pattern_of(["/owners/4.html", "/owners/12.html"]) == "^/owners/[0-9]+\\.html/?(?:[?#].*)?$"


def test_two_pages_of_a_menu_that_are_called_differently_are_two_screens_though_both_are_empty():
    empty = (
        "<h2>{}</h2><h3>Nothing here yet</h3><h3>How to begin</h3><p>None of them.</p><button>Reload</button>"
    )
    told = [
        ("/desk/kb", "Knowledge", empty.format("Knowledge")),
        ("/desk/saved", "Searches", empty.format("Searches")),
        *((f"/{word}", word, table([word], [word])) for word in ("apples", "pears", "plums", "cherries")),
    ]
    pages = [
        ObservedPage(build_page_profile(snapshot(path, title, body)), path, run=path)
        for path, title, body in told
    ]
    assert [0, 1] in cluster_pages(pages)
    assert [0] in cluster_pages(pages, (), ["/desk/kb", "/desk/saved"])


def test_pages_of_one_of_many_things_that_are_built_alike_are_one_screen_though_their_buttons_name_data():
    def letter(number: int, sender: str) -> ObservedPage:
        buttons = f"<button>View {sender}</button><button>Answer {sender}</button>"
        return look(
            f"/letters/{number}",
            f"<h1>Letters</h1><div class=letter><p class=body>{sender}</p>{buttons}</div>",
        )

    form = "<form><label>Copies <input name=n></label><button>Order</button></form>"
    pages = [letter(number, name) for number, name in ((12, "Ada"), (13, "Bob"), (14, "Cid"))]
    pages += [look("/letters/15", f"<h1>Letters</h1>{form}"), look("/", "<h1>Home</h1>")]
    assert cluster_pages(pages) == [[0, 1, 2], [3], [4]]


PARTS = {
    "berths": "<button>Add berth</button><table><tr><th>Berth</th></tr><tr><td>{}</td></tr></table>",
    "crew": "<form><label>Captain <input name=captain></label><button>Save</button></form>",
    "log": "<h3>Entries</h3><ul><li>{}</li></ul><button>Write</button>",
    "rules": "<dl><dt>Speed</dt><dd>4 knots</dd></dl><button>Print</button>",
}


def _parts_of(names: Sequence[str], fields: str = "") -> list[ObservedPage]:
    return [
        look(
            f"/yards/{name}/{part}",
            f"<h1>{name}</h1><h2>{part}</h2>{fields}{body.format(name)}",
            f"{part} - {name}",
        )
        for part, body in PARTS.items()
        for name in names
    ]


def test_things_with_many_parts_are_one_kind_though_menus_lead_to_each_and_one_part_is_empty():
    pages = _parts_of(("North", "South"))
    pages[5] = replace(
        look(pages[5].path, "<h1>South</h1><h2>log</h2><p>Nothing was written yet.</p>", "log - South")
    )
    pages += [look("/", "<h1>Home</h1>"), look("/people", f"<h1>People</h1>{table(('Name',), NAMES)}")]
    entries = [page.path for page in pages]
    found = cluster_pages(pages, (), entries)
    assert [0, 1] in found, "berths"
    assert [2, 3] in found, "crew"
    assert [6, 7] in found, "rules"


def test_two_kinds_whose_parts_are_called_alike_and_differ_are_not_one():
    pages = _parts_of(("boats",)) + _parts_of(
        ("people",),
        "<form><label>Born <input name=born type=date></label><label>Town <input name=town></label><button>Send</button></form>",
    )
    pages += [look("/", "<h1>Home</h1>"), look("/help", "<h1>Help</h1><p>Ask us.</p>")]
    assert all(len(group) == 1 for group in cluster_pages(pages, (), [page.path for page in pages]))


def test_a_query_that_asks_by_a_word_for_another_page_is_another_screen_and_one_for_other_data_is_not():
    def page(query: str, heading: str, body: str) -> ObservedPage:
        shared = "<h2>Options</h2><label>Days <input name=days></label><label>Most <input name=most></label><button>Show</button>"
        return look(f"/index.php?{query}", f"<h1>{heading}</h1>{shared}{body}", heading)

    captains = table(("Captain", "Born", "Ship"), NAMES)
    pages = [
        page("route=ship/list", "Ships", f"<button>Add ship</button>{table(('Name', 'Length'), NAMES)}"),
        page(
            "route=ship/list&sort=name",
            "Ships",
            f"<button>Add ship</button>{table(('Name', 'Length'), NAMES[:2])}",
        ),
        page(
            "route=crew/list", "Crews", f"<form><label>Born <input name=b type=date></label></form>{captains}"
        ),
        page(
            "route=site/about",
            "About us",
            "<dl><dt>Founded<dd>1900</dl><blockquote><cite>Ada</cite></blockquote>",
        ),
    ]
    assert cluster_pages(pages) == [[0, 1], [2], [3]]


def test_a_heading_of_several_words_before_a_quoted_name_names_the_kind():
    def page(name: str, more: str = "") -> ObservedPage:
        spoken = name.replace("_", " ")
        return look(f"/wiki/Links/{name}", f'<h1>Pages that link to "{spoken}"</h1>{more}<button>Go</button>')

    pages = [
        page("Main_Page", "<ul><li>Pier</li></ul>"),
        page("Paint_list", "<p>No pages link here.</p><h2>Hint</h2><i></i>"),
    ]
    pages += [
        look("/wiki/Pier", "<h1>Pier</h1><p>By the sea</p>"),
        look("/", "<h1>Home</h1>"),
        look("/help", "<h1>Help</h1>"),
    ]
    assert [0, 1] in cluster_pages(pages)


def test_refusals_at_three_places_are_one_screen():
    pages = [
        look(f"/special/{part}/Ada", f"<h1>Permission error</h1><p>{who} may {part}.</p>{more}")
        for part, who, more in (
            ("Block", "Wardens", "<ul><li>Ada</li></ul>"),
            ("Rights", "Clerks", "<dl><dt>Since<dd>1900</dl>"),
            ("Delete", "Owners", "<blockquote>Ask</blockquote>"),
        )
    ]
    pages += [look("/special/Log/Ada", "<h1>Log</h1><p>Nothing.</p>"), look("/", "<h1>Home</h1>")]
    assert [0, 1, 2] in cluster_pages(pages)


def test_pages_with_the_name_of_their_thing_within_the_title_are_one_kind_if_they_offer_the_same():
    def page(path: str, title: str, columns: Sequence[str], body: str) -> ObservedPage:
        heads = "".join(f"<th>{column}</th>" for column in columns)
        shown = f"<button>Follow</button><table><thead><tr>{heads}</tr></thead></table>{body}"
        return look(path, f"<h2>{title}</h2>{shown}", title)

    full = "<section><article><h3><i></i></h3><figure><img src=/x><figcaption><time>May</time></figcaption></figure></article></section>"
    empty = "<div><blockquote><em>Ask.</em><dl><dt>Office<dd><q>No</q></dl></blockquote></div>"
    pages = [
        page("/clerks/ada-may", "Ada May's orders", ("Order", "Sent"), full),
        page("/clerks/ben", "Ben's orders", ("Order", "Sent"), empty),
        page("/manage/ropes", "Manage ropes", ("Length", "Colour", "Maker"), full),
        page("/manage/berths", "Manage berths", ("Depth", "Quay", "Light"), empty),
    ]
    pages += [look("/", "<h1>Home</h1>"), look("/help", "<h1>Help</h1><p>Ask us.</p>")]
    assert cluster_pages(pages)[:3] == [[0, 1], [2], [3]]


def test_one_page_each_of_two_kinds_that_their_words_tell_is_two_screens():
    history = table(("Date", "User", "Action"), NAMES)
    pages = [look(f"/{at}", f"<h1>{at}</h1>{history}", at.capitalize()) for at in ("user1", "issue9")]
    pages += [look("/", "<h1>Home</h1>"), look("/help", "<h1>Help</h1><p>Ask us.</p>")]
    assert cluster_pages(pages)[:2] == [[0], [1]]
    goods = [look(f"/goods/{at}", f"<h1>{at}</h1>{history}", at) for at in ("rake_1", "pot_2")]
    assert cluster_pages([*goods, *pages[2:]])[:1] == [[0, 1]]


def test_a_list_and_the_form_for_one_more_of_one_name_are_two_screens_by_what_the_query_asks_for():
    ships = table(("Number", "Name"), NAMES)
    pages = [
        look("/ship", f"<h1>Ship editing</h1><h2>About ships</h2><h3>Rules</h3>{ships}", "Ship editing"),
        look(
            "/ship?template=item",
            "<h1>Ship editing</h1><h2>About ships</h2><h3>Rules</h3><form><label>Mast <input name=mast></label></form>",
            "Ship editing",
        ),
    ]
    pages += [look("/", "<h1>Home</h1>"), look("/help", "<h1>Help</h1><p>Ask us.</p>")]
    assert cluster_pages(pages)[:2] == [[0], [1]]
