"""Stand-ins for plugins of livekit-agents: a recogniser, a model and a voice, each scripted."""

from __future__ import annotations

import asyncio
import math
import struct
import sys
from types import ModuleType
from typing import Any

import pytest
from livekit.agents import llm, stt, tts, utils
from livekit.agents.types import DEFAULT_API_CONNECT_OPTIONS

PROVIDER = "scripted_for_tests"
RATE = 16_000


class STT(stt.STT[Any]):
    """Understands whatever is said as `WORDS`. As most are without a stream: what was said is sent whole."""

    words = "What languages does it speak?"

    def __init__(self, words: str | None = None) -> None:
        super().__init__(capabilities=stt.STTCapabilities(streaming=False, interim_results=False))
        self._words = words or self.words

    async def _recognize_impl(self, *_: Any, **__: Any) -> stt.SpeechEvent:
        data = stt.SpeechData(language="en", text=self._words)
        return stt.SpeechEvent(type=stt.SpeechEventType.FINAL_TRANSCRIPT, alternatives=[data])


class LLM(llm.LLM[Any]):
    """Calls one tool, then says what it found; `asked` has every prompt, `tools` what it might call."""

    def __init__(
        self, says: str = "It speaks English, Hindi and Spanish.", tool: str = "search_knowledge"
    ) -> None:
        super().__init__()
        self.says, self.tool = says, tool
        self.asked: list[str] = []
        self.tools: set[str] = set()
        self.found: list[str] = []

    def chat(
        self, *, chat_ctx: Any, tools: Any = None, conn_options: Any = DEFAULT_API_CONNECT_OPTIONS, **_: Any
    ) -> Any:
        return _Scripted(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)


class _Scripted(llm.LLMStream):
    async def _run(self) -> None:
        model: LLM = self._llm  # type: ignore[assignment]
        model.tools |= {tool.info.name for tool in self._tools}  # type: ignore[union-attr]
        items = self._chat_ctx.items
        answers = [item for item in items if item.type == "function_call_output"]
        model.found += [item.output for item in answers]
        model.asked += [i.text_content or "" for i in items if i.type == "message" and i.role == "user"]
        if model.tool and not answers:
            call = llm.FunctionToolCall(
                name=model.tool, arguments='{"website_id": "spadeworks", "query": "language"}', call_id="1"
            )
            delta = llm.ChoiceDelta(role="assistant", tool_calls=[call])
        else:
            delta = llm.ChoiceDelta(role="assistant", content=model.says)
        self._event_ch.send_nowait(llm.ChatChunk(id=utils.shortuuid(), delta=delta))


class TTS(tts.TTS[Any]):
    """A tone, a twentieth of a second for each letter; `fails`: nothing, as without a network."""

    def __init__(self, fails: str = "") -> None:
        super().__init__(capabilities=tts.TTSCapabilities(streaming=False), sample_rate=RATE, num_channels=1)
        self.fails, self.spoken = bool(fails), list[str]()

    def synthesize(self, text: str, *, conn_options: Any = None) -> Any:
        from livekit.agents.types import APIConnectOptions  # noqa: PLC0415

        self.spoken.append(text)
        return _Tone(tts=self, input_text=text, conn_options=APIConnectOptions(max_retry=0, timeout=2))


class _Tone(tts.ChunkedStream):
    async def _run(self, output_emitter: Any) -> None:
        if self._tts.fails:  # type: ignore[attr-defined]
            from livekit.agents import APIConnectionError  # noqa: PLC0415

            raise APIConnectionError("no network")
        samples = [int(9_000 * math.sin(i / 8)) for i in range(RATE * len(self._input_text) // 20)]
        output_emitter.initialize(request_id="1", sample_rate=RATE, num_channels=1, mime_type="audio/pcm")
        output_emitter.push(struct.pack(f"<{len(samples)}h", *samples))
        output_emitter.flush()
        await asyncio.sleep(0)


@pytest.fixture
def scripted_plugins(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`livekit.plugins.scripted_for_tests`, as if it were installed."""
    package, plugin = ModuleType("livekit.plugins"), ModuleType(f"livekit.plugins.{PROVIDER}")
    package.__path__ = []
    for kind in (STT, LLM, TTS):
        setattr(plugin, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, "livekit.plugins", package)
    monkeypatch.setitem(sys.modules, f"livekit.plugins.{PROVIDER}", plugin)
    return plugin
