"""A sample of the benchmark's sentences against what synthesis keeps of the zoo's demonstrations."""

from __future__ import annotations

import pytest

from tests.sentences.benchmark_figures import measure_application
from tests.zoo.applications import APPLICATIONS
from tests.zoo.single_page.benchmark import unpack_archive


@pytest.mark.parametrize("name", ["gmail", "paypal-my-wallet"])
def test_of_sentences_that_nobody_here_wrote_none_is_bound_wrong(name: str) -> None:
    unpack_archive()
    figures = measure_application(name, list(APPLICATIONS[name].jobs))
    assert figures.shown["right"] + figures.unseen["right"] > 0
    assert figures.shown["wrong"] + figures.unseen["wrong"] + figures.ours["wrong"] == 0, figures.notes
    assert figures.without["wrong"] == 0, figures.notes
