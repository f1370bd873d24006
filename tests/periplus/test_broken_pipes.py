"""A reader that has ended is no internal error, also where the MCP SDK puts the error into a group."""

from __future__ import annotations

import pytest

from periplus.cli import _is_broken_pipe

PIPE = BrokenPipeError()


@pytest.mark.parametrize(
    ("error", "only_the_pipe"),
    [
        (PIPE, True),
        (ExceptionGroup("tasks", [ExceptionGroup("writer", [PIPE]), PIPE]), True),
        (ExceptionGroup("tasks", [PIPE, ValueError()]), False),
        (OSError(), False),
    ],
)
def test_only_a_broken_pipe_counts_as_a_reader_that_has_ended(error, only_the_pipe):
    assert _is_broken_pipe(error) is only_the_pipe
