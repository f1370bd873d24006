"""Each format as its source documents and people write it."""

from __future__ import annotations

import json
import textwrap

import pytest

from agent.inferencer import InferenceFailed
from agent.verification.planning import RequirementsInvalid, read_requirements, requirement_of
from tests.support.requirement_files import read

PACTS = """\
Element@Region | Action | Value | Expected Outcome
Username@LoginForm | fill | standard_user | field_populated
Password@LoginForm | fill | secret_sauce | field_populated
Login@LoginForm | click | | navigates_to:Products
"""
EXPECTED = [
    ("Username@LoginForm", "Username", "LoginForm", "fill", "standard_user", ["field_populated"]),
    ("Password@LoginForm", "Password", "LoginForm", "fill", "secret_sauce", ["field_populated"]),
    ("Login@LoginForm", "Login", "LoginForm", "click", None, ["navigates_to:Products"]),
]


def brief(requirement):
    return [
        (
            step.intent,
            step.element,
            step.region,
            step.action,
            step.value,
            [each.said for each in step.expected],
        )
        for step in requirement.steps
    ]


async def test_the_pipe_format_of_pacts_is_read_plain_and_as_a_table(tmp_path):
    (plain,) = await read(tmp_path / "REQ-LOGIN-001.txt", PACTS, default_url="https://www.saucedemo.com")
    assert (plain.req_id, plain.url) == ("REQ-LOGIN-001", "https://www.saucedemo.com")
    assert brief(plain) == EXPECTED
    rows = ["| " + line + " |" for line in PACTS.splitlines()]
    table = "\n".join(
        ["# REQ-LOGIN-001: Sign in", "", "URL: /login", "", rows[0], "|---|:--|--:|---|", *rows[1:]]
    )
    (found,) = await read(tmp_path / "other.md", table)
    assert (found.req_id, found.title, found.url) == ("REQ-LOGIN-001", "Sign in", "/login")
    assert brief(found) == EXPECTED
    assert found.steps[0].place.line == 7


async def test_the_json_of_pacts_is_read_alone_in_a_list_and_wrapped(tmp_path):
    names = ("element", "region", "action", "value", "expected")
    steps = [
        {name: said for name, said in zip(names, (*each[1:5], each[5][0]), strict=True) if said is not None}
        for each in EXPECTED
    ]
    one = {"req_id": "REQ-LOGIN-001", "url": "https://www.saucedemo.com", "steps": steps}
    for data in (one, [one], {"requirements": [one]}):
        (found,) = await read(tmp_path / "a.json", json.dumps(data))
        assert (found.req_id, brief(found)) == ("REQ-LOGIN-001", EXPECTED)


def test_a_request_of_pacts_is_one_requirement():
    lines = [
        "Username@LoginForm | fill | standard_user",
        {"element": "Login", "region": "LoginForm", "action": "click"},
    ]
    found = requirement_of("REQ-LOGIN-001", "https://www.saucedemo.com", lines)
    assert [each.intent for each in found.steps] == ["Username@LoginForm", "Login@LoginForm"]
    with pytest.raises(RequirementsInvalid) as told:
        requirement_of(
            "no good", "www.saucedemo.com", ["A | clik", {"element": "B", "action": "fill", "vlue": 1}, 3]
        )
    assert [(each.place.path, each.message) for each in told.value.problems] == [
        ("$.steps[1]", "unknown key 'vlue'"),
        ("$.steps[2]", "expected a step, found 3"),
        ("$.req_id", "'no good' cannot be a Req ID"),
        ("$.url", "'www.saucedemo.com' is no URL"),
        ("$.steps[0]", "unknown action 'clik'"),
        ("$.steps[1]", "fill needs a value"),
    ]


async def test_numbers_and_nothing_in_json_are_texts(tmp_path):
    steps = [
        {"element": "Age", "action": "fill", "value": 42},
        {"element": "Age", "action": "fill", "value": ""},
        {"element": "Age", "action": "hover", "value": None, "region": ""},
    ]
    (found,) = await read(tmp_path / "a.json", json.dumps({"url": "/", "steps": steps}))
    assert [each.value for each in found.steps] == ["42", "", None]
    assert found.req_id == "a"
    text = json.dumps({"url": "/", "steps": steps}).replace("42", "1.10").replace('""', "true", 1)
    (found,) = await read(tmp_path / "a.json", text)
    assert [each.value for each in found.steps] == ["1.10", "true", None]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
async def test_csv_is_read_with_any_delimiter_and_byte_order_mark(tmp_path, delimiter, encoding):
    rows = [line.split(" | ") for line in PACTS.replace("click | |", "click |  |").splitlines()]
    rows[3] = ["Login@LoginForm", "click", "", "navigates_to:Prödücts"]
    text = "\r\n".join(delimiter.join(cells) for cells in [("URL", "/login", "", ""), *rows])
    (found,) = await read(tmp_path / "login.csv", text.encode(encoding))
    assert (found.req_id, found.url) == ("login", "/login")
    assert found.steps[2].expected[0].value == "Prödücts"


async def test_csv_says_its_separator_and_keeps_count_of_lines_inside_cells(tmp_path):
    text = 'sep=;\nURL;Element;Region;Action;Value;Expected result\n/a;Save;"The\nform";click;;"visible\nenabled"\n;X;;clik;;\n'
    with pytest.raises(RequirementsInvalid) as told:
        await read(tmp_path / "a.csv", text)
    (problem,) = told.value.problems
    assert (problem.place.line, problem.message) == (6, "unknown action 'clik'")
    (found,) = await read(tmp_path / "a.csv", text.replace("clik", "click"))
    assert [each.kind for each in found.steps[0].expected] == ["visible", "enabled"]


async def test_several_requirements_in_one_table_are_told_by_a_column_that_is_filled_once(tmp_path):
    text = textwrap.dedent("""\
        Test Case,Title,URL,Tags,Step,Element,Action,Test Data,Expected,Comments
        A-1,First,/a,"x, y",1,Save,click,,visible,why
        ,,,,2,Name,type,Ada,,
        A-2,Second,/b,,1,Save,hover,,,
    """)
    one, two = await read(tmp_path / "a.csv", text)
    assert (one.req_id, one.title, one.url, one.tags, len(one.steps)) == ("A-1", "First", "/a", ("x", "y"), 2)
    assert (two.req_id, two.title, two.url, two.tags, len(two.steps)) == ("A-2", "Second", "/b", (), 1)
    assert [(each.action, each.typed) for each in one.steps] == [("click", False), ("fill", True)]


async def test_header_blocks_one_below_another_are_requirements(tmp_path):
    text = "Req ID: A-1\nURL: /a\nSave | click\n\nReq ID: A-2\nURL: /b\nLogin: login\nSave | click\nEdit | click\n"
    one, two = await read(tmp_path / "a.txt", text)
    assert (one.req_id, one.url, one.login, len(one.steps)) == ("A-1", "/a", None, 1)
    assert (two.req_id, two.url, two.login, len(two.steps)) == ("A-2", "/b", "login", 2)


@pytest.mark.parametrize(
    "text",
    [
        "# A-1: x\nURL: /\nLogin | click\nName | hover\nID | | | visible\n",
        "URL,/\nTags,a,b\nElement,Action,Value,Expected\nLogin,click\nName,hover\nID,,,visible\n",
        "Element,Action,Value,Expected,URL\nLogin,click,,,/\nName,hover\nID,,,visible\n",
    ],
)
async def test_elements_may_be_called_as_keys_are(tmp_path, text):
    name = "a.txt" if text.startswith("#") else "a.csv"
    (found,) = await read(tmp_path / name, text)
    assert [(each.element, each.action) for each in found.steps] == [
        ("Login", "click"),
        ("Name", "hover"),
        ("ID", ""),
    ]
    assert (found.login, found.title == "x", found.tags) == (
        None,
        name == "a.txt",
        ("a", "b") if "Tags" in text else (),
    )


async def test_a_block_may_stand_further_right_and_says_each_key_once(tmp_path):
    (found,) = await read(tmp_path / "a.csv", ",URL,/x\n,Element,Action\n,Save,click\n")
    assert found.url == "/x"
    with pytest.raises(RequirementsInvalid, match="a second url: '/y'"):
        await read(tmp_path / "a.csv", "URL,/x,/y\nElement,Action\nSave,click\n")


async def test_markdown_may_say_things_to_people_and_what_requirements_have_in_common(tmp_path):
    text = textwrap.dedent(r"""
        # All of them

        Some words | for people.

        Login: login

        ## REQ-1 Save

        URL: /a

        | Element | Action | Value | Expected |
        |---------|--------|-------|----------|
        | Save    | click  |       | shows:"a \| b; c" |

        ## Just a title

        **URL:** /b

        | Element | Action |
        |---------|--------|
        | Save    | click  |
    """)
    one, two = await read(tmp_path / "a.md", text)
    assert (one.req_id, one.title, one.login, one.steps[0].expected[0].value) == (
        "REQ-1",
        "Save",
        "login",
        "a | b; c",
    )
    assert (two.req_id, two.title, two.login, two.url) == ("Just_a_title", "Just a title", "login", "/b")


async def test_a_folder_is_all_of_its_requirement_files(tmp_path):
    (tmp_path / "one.txt").write_text(PACTS)
    (tmp_path / "two.csv").write_text("Element,Action\nSave,click\n")
    (tmp_path / "notes.docx").write_text("x")
    (tmp_path / "~$two.xlsx").write_text("x")
    found = await read_requirements([tmp_path], default_url="/")
    assert [each.req_id for each in found] == ["one", "two"]


async def test_a_file_to_upload_is_found_beside_the_requirements(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_text("name\n")
    (found,) = await read(tmp_path / "a.txt", "URL: /\nChoose | upload | files/a.csv\n")
    assert found.steps[0].value == str(tmp_path / "files" / "a.csv")
    assert found.steps[0].action == "upload_file"
    with pytest.raises(RequirementsInvalid, match=r"there is no file .*b\.csv"):
        await read(tmp_path / "a.txt", "URL: /\nChoose | upload | files/b.csv\n")
    with pytest.raises(RequirementsInvalid, match="relative path"):
        requirement_of("a", "/", ["Choose | upload | files/a.csv"])


class Model:
    """A language model that says what it is told to."""

    def __init__(self, answer: str | InferenceFailed) -> None:
        self.answer, self.asked = answer, ""

    async def infer(self, prompt: str) -> str:
        self.asked = prompt
        if isinstance(self.answer, InferenceFailed):
            raise self.answer
        return self.answer


async def test_free_prose_is_read_by_the_model_and_judged_like_anything_else(tmp_path):
    prose = "People sign in with their address and see the dashboard."
    answer = {"req_id": "sign_in", "steps": [{"element": "Email", "action": "fill", "value": "a@b.c"}]}
    model = Model(f"Here you are:\n```json\n[{json.dumps(answer)}]\n```")
    (found,) = await read(tmp_path / "a.txt", prose, inferencer=model, default_url="/")
    assert (found.req_id, found.steps[0].value) == ("sign_in", "a@b.c")
    assert prose in model.asked
    answer["steps"][0]["action"] = "smile"
    with pytest.raises(RequirementsInvalid, match="unknown action 'smile'"):
        await read(tmp_path / "a.txt", prose, inferencer=Model(json.dumps(answer)), default_url="/")
    with pytest.raises(RequirementsInvalid, match="not JSON"):
        await read(tmp_path / "a.txt", prose, inferencer=Model("I would rather not."))
    with pytest.raises(RequirementsInvalid, match="no usable answer"):
        await read(tmp_path / "a.txt", prose, inferencer=Model(InferenceFailed("no key")))


async def test_without_a_model_prose_is_refused_with_the_way_out(tmp_path):
    with pytest.raises(
        RequirementsInvalid, match="only a language model can read -> write steps as Element@Region"
    ):
        await read(tmp_path / "a.txt", "People sign in and see the dashboard.")
