"""Stage 3a: brings each step into canonical form: action types of the vocabulary, one selector model, one name
per argument (MA 3).

Afterwards, the `target` of a step is a `Selector`, `True` (a person) or None. An address is in `args["url"]`, a
pause in `args["duration"]` in seconds, any other value in `args["value"]`.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from agent.synthesis.errors import TraceNormalizationError
from agent.synthesis.traces.trace_side_effects import InterleavedTabs, linearize_tabs, split_side_effects
from kb_schema import action_types
from kb_schema.action_calls import _VALUE_NAMES
from kb_schema.execution_traces import ExecutionTrace, TraceStep
from kb_schema.selectors import Selector, SessionStrategy

UNRECOGNIZED_ACTION_KEY = "unrecognized_action_type"
"""Metadata key of a step: its action name, if the vocabulary does not contain it."""
ACTION_TYPE_MAP: Mapping[str, str] = {}
"""The map of MA. Empty, since `kb_schema.action_types` has every name in it as an alias."""

_FRAMEWORK = re.compile(r"^__id__\s*[=:]?\s*(.+)$")
_DURATIONS = ("duration", "seconds", "duration_seconds", "wait_seconds", "time", "value")
_ASKS_A_PERSON = "UserInputsRequired"


class TraceNormalizer:
    """Brings traces into canonical form. `custom_type_map` takes precedence over the vocabulary."""

    def __init__(self, custom_type_map: Mapping[str, str] | None = None) -> None:
        self._type_map = {**ACTION_TYPE_MAP, **(custom_type_map or {})}

    def normalize(self, traces: Iterable[ExecutionTrace]) -> list[ExecutionTrace]:
        """Return traces with normalised steps. Raises `TraceNormalizationError` for an invalid target."""
        return [self._trace(trace) for trace in traces]

    def _trace(self, trace: ExecutionTrace) -> ExecutionTrace:
        steps = []
        for index, step in enumerate(trace.steps):
            try:
                steps.append(self.normalize_step(step))
            except (ValidationError, TypeError, ValueError) as exc:
                raise TraceNormalizationError(trace.trace_id, index, _first_line(exc)) from exc
        try:
            told = linearize_tabs(steps) if steps else ()
        except InterleavedTabs as exc:
            raise TraceNormalizationError(trace.trace_id, exc.index, str(exc)) from exc
        return trace.model_copy(update={"steps": told})

    def normalize_step(self, step: TraceStep) -> TraceStep:
        """Return a step in canonical form. Raises `ValueError` or `TypeError` for an invalid target."""
        name = self.normalize_action_type(step.action_type)
        args, metadata = split_side_effects(step.args or {}, dict(step.metadata))
        known = action_types.action_type(name)
        if known is None:
            metadata[UNRECOGNIZED_ACTION_KEY] = step.action_type
        args = {key: value for key, value in args.items() if value is not None}
        target: Any = step.target
        if name == "wait":
            person = step.action_type == _ASKS_A_PERSON or target is True
            target, args = (True, args) if person else (None, _pause(args, target))
        elif name == "navigate":
            target, args = None, _address(args, target)
        else:
            if known is not None and known.takes_value:
                args = _one_value(args)
            target = self.normalize_target(target, step)
        return step.model_copy(
            update={"action_type": name, "target": target, "args": args or None, "metadata": metadata}
        )

    def normalize_action_type(self, raw_type: str) -> str:
        """Return the name in the vocabulary; an unknown name unchanged."""
        mapped = self._type_map.get(raw_type, raw_type)
        return action_types.canonical(mapped) or mapped

    def normalize_target(self, target: Any, step: TraceStep | None = None) -> Selector | None:
        """Return a target as a selector. Raises `ValueError` or `TypeError` for an invalid target.

        A string is CSS, unless the step's page contains it as a framework id (`__id__`).
        """
        if target is None or target in ("", True):
            return None
        if isinstance(target, Selector):
            return target
        if isinstance(target, int):
            target = f"__id__{target}"
        if isinstance(target, str):
            session = _framework_id(target.strip(), step)
            if session is not None:
                return Selector(strategies=(SessionStrategy(type="framework_id", value=session),))
            return Selector.model_validate(target)
        if isinstance(target, list | tuple):
            return Selector.model_validate({"strategies": list(target)})
        if isinstance(target, Mapping):
            return Selector.model_validate(dict(target))
        raise TypeError(f"expected a selector, a string or True as target, found a {type(target).__name__}")


def median_wait(durations: Sequence[float]) -> float:
    """Return the median of observed pauses in seconds (MA Property 6). Raises `ValueError` if there are none."""
    if not durations:
        raise ValueError("no durations to take the median of")
    return float(statistics.median(durations))


def _framework_id(text: str, step: TraceStep | None) -> str | None:
    told = _FRAMEWORK.match(text)
    if told is not None:
        return told[1].strip("\"' ")
    if text.isdigit():
        return text
    pages = () if step is None else (step.html_before, step.html_after)
    known = any(page is not None and f'__id__="{text}"' in page for page in pages)
    return text if known else None


def _address(args: dict[str, Any], target: Any) -> dict[str, Any]:
    url = args.pop("url", None) or args.pop("value", None) or (target if isinstance(target, str) else None)
    return {**args, "url": url} if url else args


def _pause(args: dict[str, Any], target: Any) -> dict[str, Any]:
    """Return the arguments with the pause as `duration` in seconds; converts milliseconds."""
    rest = {key: value for key, value in args.items() if key not in (*_DURATIONS, "duration_ms")}
    seconds = _number(args.get("duration_ms"))
    if seconds is not None:
        return {**rest, "duration": seconds / 1000}
    given = (_number(each) for each in (*(args.get(name) for name in _DURATIONS), target))
    duration = next((each for each in given if each is not None), None)
    return rest if duration is None else {**rest, "duration": duration}


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _one_value(args: dict[str, Any]) -> dict[str, Any]:
    if "value" in args:
        return args
    name = next((each for each in _VALUE_NAMES if each in args), None)
    return args if name is None else {("value" if key == name else key): each for key, each in args.items()}


def _first_line(exc: Exception) -> str:
    if isinstance(exc, ValidationError):
        first = exc.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'target'}: {first['msg']}"
    return str(exc)
