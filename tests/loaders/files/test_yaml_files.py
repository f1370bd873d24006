"""YAML that says what JSON can say: nothing is guessed, everything comes back."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from loaders.files.yaml_files import read_file, to_yaml

SCALARS = {
    "no": "no", "on": "on", "yes": "yes", "y": "y", "12:30": "12:30", "1:30:00": "1:30:00", "010": "010",
    "0x1f": "0x1f", "0o7": "0o7", "1_000": "1_000", "2025-01-15": "2025-01-15",
    "2025-01-15T10:30:00Z": "2025-01-15T10:30:00Z", ".inf": ".inf", ".nan": ".nan", "+1": "+1", "1.": "1.",
    ".5": ".5", "=": "=", "true": True, "false": False, "True": True, "null": None, "~": None, "": None,
    "0": 0, "-7": -7, "12": 12, "1.5": 1.5, "-0.25": -0.25, "1e3": 1000.0, "2.5E-1": 0.25,
}  # fmt: skip

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(("written", "meant"), SCALARS.items())
def test_a_plain_scalar_means_what_it_means_in_json(tmp_path, written, meant):
    (tmp_path / "x.yaml").write_text(f"value: {written}\n")
    read = read_file(tmp_path / "x.yaml", "x.yaml")["value"]
    assert read == meant
    assert type(read) is type(meant)


def test_keys_are_always_strings(tmp_path):
    (tmp_path / "x.yaml").write_text("1: a\ntrue: b\nnull: c\n2025-01-15: d\n")
    assert read_file(tmp_path / "x.yaml", "x.yaml") == {"1": "a", "true": "b", "null": "c", "2025-01-15": "d"}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("yaml") / "x.yaml"


@settings(deadline=None)
@given(data=JSON)
def test_any_json_is_written_as_yaml_that_reads_back_the_same(file, data):
    written = to_yaml({"data": data})
    file.write_text(written, encoding="utf-8", newline="")
    assert repr(read_file(file, "x")) == repr({"data": data})


@settings(deadline=None)
@given(
    texts=st.lists(
        st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(sorted(SCALARS)), max_size=5
    )
)
def test_texts_are_texts_to_other_readers_of_yaml_too(texts):
    assert yaml.safe_load(to_yaml(texts)) == texts


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path):
    (tmp_path / "x.yaml").write_bytes("\ufeffa: 1\r\nb: two\r\n".encode())
    assert read_file(tmp_path / "x.yaml", "x.yaml") == {"a": 1, "b": "two"}
