"""Sentences as users give them: to `periplus run`, and as templates in documents."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from agent.synthesis.utterances.utterance_templates import learn_template
from agent.synthesis.utterances.written_templates import read_template, write_template
from kb_store import load_knowledge, open_stores
from loaders.files.folder_reader import read_knowledge_folder
from periplus.commands.run import app
from periplus.errors import UserError
from tests.sentences.sentence_figures import SEED

NAMES = st.from_regex(r"[A-Z][a-z]{1,8}( [A-Z][a-z]{1,8})?", fullmatch=True)


@pytest.fixture
async def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    knowledge, _ = read_knowledge_folder(SEED.parent)
    async with open_stores(tmp_path) as stores:
        await load_knowledge(stores.documents, stores.graph, knowledge)


@pytest.mark.parametrize(
    ("sentence", "said", "fix"),
    [
        ("create an agent named Ada", "nobody to ask", "`periplus run create_agent -i agent_name=Ada`"),
        ("rent a bike for Ada for 3 days", "no task does what the sentence says", "values in quotes"),
        ("create an agent that never sleeps", "the nearest is create_agent, which needs agent_name", "values in quotes"),
        ("delete emails", "more than one task", "`periplus run delete_all_emails`; `periplus run delete_single_email`"),
        ("create a campaign named Spring", "no value for campaign_agent, start_date", "-i start_date=..."),
    ],
)  # fmt: skip
def test_without_a_yes_nothing_runs_and_the_command_is_named(
    stored: None, sentence: str, said: str, fix: str
) -> None:
    result = CliRunner().invoke(app, [sentence])
    assert isinstance(result.exception, UserError)
    assert said in result.exception.message
    assert fix in (result.exception.fix or "")
    assert not Path("out").exists()


@given(
    st.lists(
        st.tuples(NAMES, NAMES),
        min_size=2,
        max_size=3,
        unique_by=(lambda each: each[0], lambda each: each[1]),
    )
)
def test_a_written_template_reads_what_the_learned_one_reads(rows: list[tuple[str, str]]) -> None:
    sentences = [f"Move the note {one} into '{other}'." for one, other in rows]
    learned = learn_template(sentences, rows, rows)
    names = [slot.name for slot in learned.slots]
    text = write_template(learned, sentences, names)
    assert text is not None
    for sentence in sentences:
        assert read_template(text).template.parse(sentence) == learned.parse(sentence)
