"""Builds the trace of an imported recording: step order, secrets, and problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from kb_schema.excerpts import keep_ends
from kb_schema.execution_traces import EXPECTED, ExecutionTrace, TraceActionResult, TraceStep, chain_pages
from kb_schema.fingerprints import Fingerprint
from kb_schema.secret_fields import is_secret_name
from kb_schema.selectors import Selector
from loaders.recordings.field_names import MarkedFields, is_doubtful_value, is_secret_field, read_field_names
from loaders.recordings.imported_traces import LEFT_OUT, ImportedTrace

NO_PATH = "C:\\fakepath\\"
"""What browsers tell pages in place of a file's folder."""
LONGEST_REMARK = 300
"""Characters of a problem or note: it names what the file has, which may be long."""
TYPING = frozenset({"fill", "append_text", "input_and_submit"})


class TraceBuilder:
    """Collects the steps of one recording."""

    def __init__(
        self,
        trace_id: str,
        source: str,
        *,
        task: str = "",
        marks: MarkedFields = MarkedFields(),  # noqa: B008 - frozen
        **metadata: Any,
    ) -> None:
        # The name of a file may have bytes that are no text.
        self._id, self._task = trace_id.encode("utf-8", "replace").decode(), task
        self._metadata: dict[str, Any] = {"source": source, **metadata}
        self._steps: list[TraceStep] = []
        self._secrets: set[str] = set()
        self._marks = marks
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.place = ""
        """Where in the file the next step is."""
        self.said = ""
        """What the file says about the next step in words, such as a comment."""
        self.url: str | None = None
        """The address of the next step, as far as it is known."""
        self.tab = 0
        """The number of the next step's tab."""
        self.plain = ""
        """Words of the task itself are not secret."""

    def __len__(self) -> int:
        return len(self._steps)

    def problem(self, place: str, text: str) -> None:
        """Report that something was left out, and where."""
        self.problems.append(keep_ends(f"{place}: {text}", LONGEST_REMARK))

    def note(self, place: str, text: str) -> None:
        """Report something else to know of the import, and where."""
        self.notes.append(keep_ends(f"{place}: {text}", LONGEST_REMARK))

    def add(
        self,
        action: str,
        selector: Selector | None = None,
        value: Any = None,
        *,
        secret: bool | None = None,
        error: str | None = None,
        html_before: str | None = None,
        html_after: str | None = None,
        at: datetime | None = None,
        opens_tab: int | None = None,
        download: str | None = None,
        fingerprint: Fingerprint | None = None,
        **args: Any,
    ) -> None:
        """Add a step.

        With `secret` None, the field's names decide whether the value is secret. `opens_tab` and `download`
        (the file's name) are its side effects. `fingerprint`: what the file says of the element.
        """
        beside = {"tab": self.tab or None, "opens_tab": opens_tab, "download": download}
        metadata: dict[str, Any] = {key: effect for key, effect in beside.items() if effect is not None}
        if fingerprint is not None:
            metadata["fingerprint"] = fingerprint.model_dump(mode="json", exclude_defaults=True)
        if said := self.said or _describe(fingerprint):
            metadata["said"] = said
        if action == "fill" and isinstance(value, str) and value.startswith(NO_PATH):
            action, value = "upload_file", value.removeprefix(NO_PATH)
            self.note(
                self.place,
                f"the recording has only the name of the file {value!r}, not where it is: start runs in its folder",
            )
        if action in TYPING and value and not secret:
            secret = self._is_secret(selector, str(value), known=secret)
        if action in TYPING and secret and value:
            metadata["secret"] = True
            if str(value) not in self.plain:
                self._secrets.add(str(value))
                value = LEFT_OUT
        self._steps.append(
            TraceStep(
                action_type=action,
                target=None if selector is None else selector.model_dump(mode="json", exclude_none=True),
                args={**({} if value is None else {"value": value}), **args} or None,
                result=TraceActionResult(success=error is None, error=error),
                timestamp=at,
                html_before=html_before,
                html_after=html_after,
                source_url=self.url,
                metadata=metadata,
            )
        )

    def _is_secret(self, selector: Selector | None, value: str, *, known: bool | None) -> bool:
        """Return whether a typed text is left out: by the field's names, or because of its form, with a note."""
        if is_secret_field(selector, self._marks):
            return True
        if known is not None or value in self.plain or not is_doubtful_value(selector, value, self._marks):
            return False
        named = () if selector is None else read_field_names(selector).own
        called = next(iter(named), "the field")
        self.note(
            self.place,
            f"the text typed into {called!r} looks like a secret, so a run asks for it; --no-secret {called} keeps it",
        )
        return True

    def answered(self, answer: Any) -> bool:
        """Record the answer to a dialog after the last step. Returns False without a step."""
        if not self._steps:
            return False
        last = self._steps[-1]
        self._steps[-1] = last.model_copy(update={"args": {**(last.args or {}), "on_dialog": answer}})
        return True

    def finished(
        self,
        *,
        error: str | None = None,
        expected: Sequence[dict[str, Any]] = (),
        inputs: Mapping[str, str] | None = None,
    ) -> ImportedTrace:
        """Return the trace. `expected`: conditions that the file checks at its end; `inputs`: named values of it."""
        told = {"problems": self.problems, "notes": self.notes, EXPECTED: list(expected)}
        plain = {
            name: text
            for name, text in (inputs or {}).items()
            if text not in self._secrets and not is_secret_name(name)
        }
        effect = {**self._metadata, **{key: each for key, each in told.items() if each}}
        times = [step.timestamp for step in self._steps if step.timestamp is not None]
        trace = ExecutionTrace(
            trace_id=self._id,
            task_description=self._task,
            steps=chain_pages(tuple(self._steps)),
            input_data=plain or None,
            success=error is None,
            error=error,
            start_time=times[0] if times else None,
            end_time=times[-1] if times else None,
            turn_count=1,
            metadata=effect,
        )
        return ImportedTrace(trace, frozenset(self._secrets))


def _describe(fingerprint: Fingerprint | None) -> str:
    """Return what an element is called, as a recording says it; an empty text if nothing is known."""
    words = () if fingerprint is None else fingerprint.words
    return f"{(fingerprint and fingerprint.role) or 'element'} {words[0]!r}" if words else ""
