"""Records the messages of an optimization in its folder; `simulate` replays them (OL)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent.events import Event
from agent.optimization.message_roles import MessageSent, Runner
from agent.optimization.suite_runner import (
    FailureAnswer,
    FailureHandler,
    LiveFailure,
    RaiseFailure,
    RepeatListener,
    SubstituteLocator,
    WaitLonger,
)
from kb_schema.suite_optimization import (
    ExecutionRequest,
    ExecutionResult,
    FailedTest,
    LocatorSynthesisResponse,
    OptimizationMessage,
    OptimizeTestFile,
)
from periplus.errors import UserError
from periplus.foreign_input import ImportBudget, read_foreign

MESSAGES = "messages.jsonl"
_ONE: TypeAdapter[OptimizationMessage] = TypeAdapter(OptimizationMessage)


class OptimizationHistory:
    """A listener of the bus that writes every message to a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / MESSAGES
        self._begun = False

    def __call__(self, event: Event) -> None:
        """Write one message."""
        if isinstance(event, MessageSent):
            with self._file.open("a" if self._begun else "w", encoding="utf-8") as file:
                file.write(event.message.model_dump_json(by_alias=True) + "\n")
            self._begun = True


def replay_history(folder: Path, budget: ImportBudget) -> tuple[Runner, FailureHandler]:
    """Return a runner and a failure handler that repeat the recorded answers of an earlier execution.

    Raises `UserError` if there is no record, and `InputTooLarge`.
    """
    asked: list[tuple[FailedTest, str]] = []
    answers: dict[str, LocatorSynthesisResponse] = {}
    result: ExecutionResult | None = None
    for message in read_foreign(folder / MESSAGES, budget, _read, folder / MESSAGES):
        match message:
            case OptimizeTestFile(failed=failed, request_id=request_id) if result is None:
                asked.append((failed, request_id))
            case LocatorSynthesisResponse(request_id=request_id) if result is None:
                answers[request_id] = message
            case ExecutionResult() if result is None:
                result = message
            case _:
                pass
    if result is None:
        raise UserError(
            f"no execution was recorded in {folder}",
            fix="name the --out folder of an earlier `periplus optimize`",
        )
    known = result

    async def run(
        request: ExecutionRequest, ask: FailureHandler | None, told: RepeatListener
    ) -> ExecutionResult:
        for failed, request_id in asked if ask is not None else ():
            failure = LiveFailure(request_id, failed, None, None, 0.0)
            verdict = await ask(failure) if ask is not None else None
            if isinstance(verdict, SubstituteLocator | WaitLonger):
                told(failure, verdict, True)
        return known.model_copy(update={"execution_id": request.execution_id, "attempt": request.attempt})

    async def look(failure: LiveFailure) -> FailureAnswer:
        said = answers.get(failure.failure_id)
        if said is None:
            return RaiseFailure("nothing was found in the recorded execution", failure.failed.evidence)
        if said.wait_ms is not None:
            return WaitLonger(said.wait_ms, said.came_after_s or 0.0, said.within_own_time, said.evidence)
        if said.candidates:
            first, *others = said.candidates
            return SubstituteLocator(first, said.evidence, tuple(others))
        return RaiseFailure(said.reason, said.evidence)

    return run, look


def _read(file: Path) -> list[OptimizationMessage]:
    return list(_messages(file))


def _messages(file: Path) -> Iterator[OptimizationMessage]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            yield _ONE.validate_json(line)
        except ValidationError:
            continue  # of a run that was cut off in mid-line
