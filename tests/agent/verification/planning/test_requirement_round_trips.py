"""For any requirements: written in every format, they are read as the same intents."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from agent.verification.planning import read_requirements
from kb_schema.expected_outcomes import JUDGED, OUTCOMES, parse_outcomes, render_outcome
from kb_schema.verification import ExpectedOutcome
from tests.support.requirement_files import FORMATS, PHRASES, Step, Written, said

LETTERS = st.characters(
    exclude_categories=("Cs", "Cc", "Cn", "Co", "Zl", "Zp"), exclude_characters='\u200b{}<>\\"@=#\ufeff|\x85'
)
words = (
    st.text(LETTERS, min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda text: text and not text.startswith("="))
)
values = (
    st.text(st.one_of(LETTERS, st.sampled_from("|;,\"'=@:`\\<")), min_size=1, max_size=15)
    .map(str.strip)
    .filter(
        lambda text: (
            text
            and text != '""'
            and not text.startswith(("=", "\\"))
            and not text.endswith("\\")
            and "\\|" not in text
        )
    )
)
names = st.builds(lambda name, region: f"{name}@{region}" if region else name, words, st.none() | words)
ids = st.from_regex(r"[A-Z]{2,4}-[0-9]{1,3}", fullmatch=True)


@st.composite
def outcomes(draw):
    kind = draw(st.sampled_from(sorted(OUTCOMES.values(), key=lambda each: each.name)))
    value = st.integers(0, 99).map(str) if kind.name == "count" else words
    given = draw({"never": st.none(), "may": st.none() | value, "must": value}[kind.value])
    element = (
        draw(words) if kind.about == "element" and not (kind.bare == "value" and given is None) else None
    )
    return render_outcome(ExpectedOutcome(kind=kind.name, said="", element=element, value=given))


@st.composite
def steps(draw):
    action = draw(st.sampled_from(sorted(PHRASES)))
    element = "" if action == "navigate" else draw(names)
    value = {
        "fill": values | st.just(""), "type": values, "select": values, "press": st.sampled_from(["Enter", "Control+A"]),
        "navigate": st.sampled_from(["/", "/agent?q=a;b", "https://x.example/a"]),
    }.get(action, st.none())  # fmt: skip
    expected = draw(st.lists(outcomes(), max_size=3))
    about = [text for text in expected if element or ":" in text or OUTCOMES[text].about == "page"]
    if all(parse_outcomes(text)[0].kind == JUDGED for text in about):
        about.append("no_console_errors")  # a model's judgement never stands alone
    return Step(element, action, draw(value), tuple(about))


@st.composite
def requirements(draw):
    found = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    return [
        Written(
            req_id=each,
            title=draw(words),
            url=draw(st.sampled_from(["/", "/login", "https://shop.example/a?b=c"])),
            login=draw(st.sampled_from(["", "login"])),
            tags=tuple(draw(st.lists(st.sampled_from(["smoke", "slow", "a_b"]), max_size=2, unique=True))),
            steps=tuple(draw(st.lists(steps(), min_size=1, max_size=4))),
        )
        for each in found
    ]


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(requirements())
async def test_every_format_says_the_same(found):
    with tempfile.TemporaryDirectory() as folder:
        read = {}
        for name, write in FORMATS.items():
            path = Path(folder) / name
            write(path, found)
            read[name] = said(await read_requirements([path]))
    expected = read["all.json"]
    assert [each["req_id"] for each in expected] == [each.req_id for each in found]
    for name, one in read.items():
        assert one == expected, name
