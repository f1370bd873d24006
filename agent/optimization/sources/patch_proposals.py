"""Proposes the smallest change of the source that uses a verified candidate for a failing call.

Nothing is written here (`patch_application`), and nothing is searched on a page. If no safe change is
possible, the answer is a refusal with its reason.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal as OneOf

import libcst as cst

from agent.optimization.sources.locator_chains import (
    SHORTCUTS,
    TIMED,
    call_at,
    chain_of,
    get_method_name,
    get_receiver,
    is_link,
    link_at,
    link_data,
    link_on,
    parse_links,
    quoted,
    same_link,
    takes_selector,
    value_of,
)
from agent.optimization.sources.locator_rewrite import ExpressionChange, LocatorRewriter, RewriteRefusal
from agent.optimization.sources.patch_comments import is_reverted, join_lines
from agent.optimization.sources.patch_guard import ABSENCE, EXISTENCE, conditions, said_texts
from agent.optimization.sources.source_files import SourceFile, SourceUnreadable, SuiteSources
from agent.optimization.sources.suite_names import SuiteNames, find_enclosing
from agent.optimization.sources.syntax_edits import (
    build_selector_string,
    find_quotes,
    format_number,
    requote_literal,
    set_keyword_argument,
)
from kb_schema.locator_expressions import Expression, LocatorLink
from kb_schema.suite_optimization import FailedTest, LocatorCandidate, Patch

MOST_WAIT_MS = 60_000
"""Maximum timeout a patch sets."""


@dataclass(frozen=True, slots=True)
class PatchRefusal:
    """Why no patch is proposed, for the user."""

    reason: str
    wanted: Patch | None = None
    """The patch that is right if others need the same: for a helper's locator with several callers."""


def fingerprint_patch(patch: Patch) -> str:
    """Identifies a rewrite: the same file, the same code before and after."""
    said = "\0".join((patch.file, join_lines(patch.before), join_lines(patch.after)))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def propose_patch(
    failed: FailedTest,
    candidate: LocatorCandidate,
    files: SuiteSources,
    *,
    fallback: bool = False,
    never: Collection[str] = (),
) -> Patch | PatchRefusal:
    """Return the smallest change that makes the failing locator the candidate.

    `never` are fingerprints of rewrites that were tried and did not help. With `fallback` the old locator
    stays behind the new one (`new.or_(old)`).
    """
    used = failed.locator
    if used is None or not used.links:
        return PatchRefusal("the failing call names no locator")
    try:
        wanted = parse_links(candidate.expression)
    except ValueError as exc:
        return PatchRefusal(f"the candidate cannot be written down: {exc}")
    told = _expected(failed, used.links, wanted)
    if told is not None:
        return PatchRefusal(told)
    work = _PatchProposal(failed, candidate, files, used.links, wanted, fallback=fallback)
    refusal: PatchRefusal | None = None
    try:
        for change in work.changes():
            if isinstance(change, RewriteRefusal):
                refusal = refusal or PatchRefusal(
                    change.why, work.patch(change.wanted) if change.wanted else None
                )
                continue
            patch = work.patch(change)
            if join_lines(patch.before) == join_lines(patch.after):
                refusal = refusal or PatchRefusal("the source has this locator already")
            elif is_reverted(change.file, change.node, patch.before):
                refusal = refusal or PatchRefusal("this change was made before, and a person reverted it")
            elif fingerprint_patch(patch) in never:
                refusal = refusal or PatchRefusal("this change was tried and did not help")
            else:
                return patch
    except SourceUnreadable as exc:
        return PatchRefusal(str(exc))
    return refusal or PatchRefusal("the locator was not found in the source")


def propose_wait_patch(  # noqa: PLR0911 - each refusal with its reason
    failed: FailedTest, timeout_ms: float, files: SuiteSources, *, reason: str
) -> Patch | PatchRefusal:
    """Return a patch that gives the failing call more time: another `timeout=`, or one more argument."""
    if failed.called_at is None:
        return PatchRefusal("the place of the failing call is not known")
    try:
        file = files.read(failed.called_at.file)
    except SourceUnreadable as exc:
        return PatchRefusal(str(exc))
    call = call_at(file, failed.called_at)
    if call is None or not isinstance(call.func, cst.Attribute):
        return PatchRefusal("the failing call was not found in the source")
    name = call.func.attr.value
    if name not in TIMED and not _asserts(call):
        return PatchRefusal(f"`{name}` takes no timeout")
    wanted = min(MOST_WAIT_MS, timeout_ms)
    for each in call.args:
        if each.keyword is not None and each.keyword.value == "timeout":
            known = value_of(each.value)
            if not isinstance(known, int | float):
                return PatchRefusal(
                    f"its timeout is `{file.code(each.value)}`, which other code may use, too"
                )
            if known >= wanted:
                return PatchRefusal(f"it waits {known / 1000:g} s already")
    after = set_keyword_argument(call, "timeout", format_number(wanted))
    change = ExpressionChange(file, call, after)
    return _patch(change, failed, kind="wait", reason=reason, confidence=0.8)


def _asserts(call: cst.Call) -> bool:
    above = get_receiver(call)
    return (
        isinstance(above, cst.Call)
        and cst.Module([]).code_for_node(above.func).rpartition(".")[2] == "expect"
    )


def _patch(
    change: ExpressionChange,
    failed: FailedTest,
    *,
    kind: OneOf["locator", "wait", "fallback"],
    reason: str,
    confidence: float,
) -> Patch:
    function = find_enclosing(change.file, change.node, cst.FunctionDef)
    span = change.file.span(change.node, function.name.value if function else "")
    before, after = change.file.code(change.node), change.file.code(change.after)
    name = hashlib.sha256(f"{span.file}:{span.line}:{span.column}:{after}".encode()).hexdigest()[:12]
    return Patch(
        patch_id=name,
        kind=kind,
        file=span.file,
        span=span,
        before=before,
        after=after,
        reason=reason,
        confidence=confidence,
        test_id=failed.test_id,
    )


def _expected(failed: FailedTest, ours: Expression, theirs: Sequence[cst.BaseExpression]) -> str | None:
    """Return why an assertion's locator may not change; None if it may."""
    name = failed.action.rpartition(".")[2]
    bare = name.removeprefix("not_")
    if failed.kind != "assertion" and bare not in ("wait_for", "wait_for_selector"):
        return None
    if bare != name or bare in ABSENCE:
        return f"`{name}` expects that something is gone: any other locator would make it pass"
    if bare not in EXISTENCE:
        return None
    demanded = conditions(_parsed(_written(ours)))
    if demanded != conditions(_parsed(_code(theirs))):
        return (
            f"`{name}` expects what its locator demands ({', '.join(demanded)}), and the one found does not"
        )
    mine, its = said_texts(_parsed(_written(ours))), said_texts(_parsed(_code(theirs)))
    if mine and mine != its:
        return f"`{name}` expects the same text it searches for ({', '.join(mine)}): changing the locator would change what is expected"
    return None


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _code(links: Sequence[cst.BaseExpression]) -> str:
    return cst.Module([]).code_for_node(links[-1])


def _written(links: Expression) -> str:
    said = "page"
    for each in links:
        words = [repr(one) for one in each.arguments] + [
            f"{name}={value!r}" for name, value in each.keywords.items()
        ]
        said += (
            f".{each.method}" if each.method in ("first", "last") else f".{each.method}({', '.join(words)})"
        )
    return said


class _PatchProposal:
    """One failing call and one candidate."""

    def __init__(
        self,
        failed: FailedTest,
        candidate: LocatorCandidate,
        files: SuiteSources,
        ours: Expression,
        theirs: tuple[cst.BaseExpression, ...],
        *,
        fallback: bool,
    ) -> None:
        self._failed, self._candidate, self._files = failed, candidate, files
        self._ours, self._theirs = ours, theirs
        self._said = tuple(link_data(each) for each in theirs)
        self._fallback = fallback
        self._rewriting = LocatorRewriter(SuiteNames(files), failed.stack)

    def patch(self, change: ExpressionChange) -> Patch:
        """Return the change as a patch."""
        why = "; ".join(self._candidate.witnesses[:2]) or "the old locator matches nothing"
        kind: OneOf["locator", "fallback"] = "fallback" if self._fallback else "locator"
        return _patch(change, self._failed, kind=kind, reason=why, confidence=self._candidate.confidence)

    def changes(self) -> Iterator[ExpressionChange | RewriteRefusal]:
        """Return every possible rewrite, best first. Raises `SourceUnreadable`."""
        if self._ours[-1].made_at is None:
            yield (
                self._at_shortcut()
                if self._failed.called_at and len(self._ours) == 1
                else RewriteRefusal("the locator is made outside the suite's own files")
            )
            return
        places = [self._place(each) for each in self._ours]
        last = places[-1]
        if last is None:
            yield RewriteRefusal("the locator was not found in the source; was the file changed meanwhile?")
            return
        if not self._fallback:
            within = self._in_the_middle(places)
            if within is not None:
                yield within
                if isinstance(within, RewriteRefusal):
                    return
        yield from self._at_the_end(places)

    def _place(self, link: LocatorLink) -> tuple[SourceFile, cst.BaseExpression] | None:
        if link.made_at is None:
            return None
        try:
            file = self._files.read(link.made_at.file)
        except SourceUnreadable:
            return None
        node = link_at(file, link.made_at, link.method)
        return None if node is None else (file, node)

    # -- shortcuts: page.click("#save")

    def _at_shortcut(self) -> ExpressionChange | RewriteRefusal:  # noqa: PLR0911 - each refusal with its reason
        assert self._failed.called_at is not None  # noqa: S101 - the caller asked
        file = self._files.read(self._failed.called_at.file)
        call = call_at(file, self._failed.called_at)
        if call is None or not isinstance(call.func, cst.Attribute):
            return RewriteRefusal("the failing call was not found in the source")
        name = call.func.attr.value
        plain = [each for each in call.args if each.keyword is None and not each.star]
        words = frozenset(each.keyword.value for each in call.args if each.keyword)
        if not takes_selector(name, len(plain), words):
            return RewriteRefusal(f"`{file.code(call)}` is no call by a selector")
        given = plain[0].value
        selector = build_selector_string(self._said)
        if not self._fallback and selector is not None and (name not in SHORTCUTS or self._css()):
            return self._rewriting.value(file, call, given, str(self._ours[0].arguments[0]), selector)
        if name not in SHORTCUTS:
            return RewriteRefusal(f"`{name}` takes a selector, and the candidate cannot be written as one")
        elsewhere = (
            None if self._fallback else self._rewriting.constant(file, given, self._ours[0], self._said)
        )
        if elsewhere is not None:
            return elsewhere
        kept = self._rewriting.fixed(file, given, str(self._ours[0].arguments[0]))
        if isinstance(kept, RewriteRefusal):
            return kept
        quote = find_quotes(call)
        found = self._built(call.func.value, quote)
        if self._fallback:
            old = cst.Call(cst.Attribute(call.func.value, cst.Name("locator")), [cst.Arg(given)])
            found = cst.Call(cst.Attribute(found, cst.Name("or_")), [cst.Arg(old)])
        rest = [
            each
            for each in call.args
            if each is not plain[0] and not (each.keyword and each.keyword.value == "strict")
        ]
        if rest:
            rest[-1] = rest[-1].with_changes(comma=call.args[-1].comma)
        after = call.with_changes(func=call.func.with_changes(value=found), args=rest)
        return ExpressionChange(file, call, after)

    def _css(self) -> bool:
        return len(self._said) == 1 and self._said[0].method == "locator" and not self._said[0].keywords

    def _built(self, base: cst.BaseExpression, quote: str) -> cst.BaseExpression:
        for each in self._theirs:
            base = _requoted_link(link_on(base, each), quote)
        return base

    # -- chains

    def _in_the_middle(
        self, places: Sequence[tuple[SourceFile, cst.BaseExpression] | None]
    ) -> ExpressionChange | RewriteRefusal | None:
        """Replace only the links that differ, if they are in one expression; otherwise None."""
        ours, theirs = self._ours, self._said
        front = _alike(ours, theirs)
        back = _alike(ours[front:][::-1], theirs[front:][::-1])
        while (len(ours) - back == front or len(theirs) - back == front) and (front or back):
            back, front = (back - 1, front) if back else (back, front - 1)
        if front == 0 and back == 0 and len(ours) > 1 and not _together(places):
            return None
        middle = places[front : len(ours) - back]
        if not middle or not _together(middle):
            return None
        known = [each for each in middle if each is not None]
        said = theirs[front : len(theirs) - back]
        nodes = self._theirs[front : len(theirs) - back]
        if not said:
            return None
        return self._rewriting.links(
            known[0][0], [node for _, node in known], ours[front : len(ours) - back], said, nodes
        )

    def _at_the_end(
        self, places: Sequence[tuple[SourceFile, cst.BaseExpression] | None]
    ) -> Iterator[ExpressionChange | RewriteRefusal]:
        """Replace the whole last expression: called on the same base, otherwise on the page."""
        last = places[-1]
        assert last is not None  # noqa: S101 - the caller asked
        file, node = last
        whole = chain_of(node)
        count = len(whole.links)
        held = self._ours[: max(0, len(self._ours) - count)]
        shared = _alike(held, self._said)
        kept = len(held) if shared == len(held) else 0
        ours = self._ours[len(held) :]
        if self._said[kept:]:
            yield self._whole(file, whole.links, ours, whole.root, kept)
        if held:
            base = self._page_for(file, node, whole.root, places[0])
            yield self._whole(file, whole.links, ours, base, 0)

    def _whole(
        self,
        file: SourceFile,
        nodes: Sequence[cst.BaseExpression],
        ours: Expression,
        base: cst.BaseExpression,
        kept: int,
    ) -> ExpressionChange | RewriteRefusal:
        made = self._rewriting.links(file, nodes, ours, self._said[kept:], self._theirs[kept:], base=base)
        if isinstance(made, RewriteRefusal) or not self._fallback:
            return made
        both = cst.Call(cst.Attribute(made.after, cst.Name("or_")), [cst.Arg(made.node)])
        return ExpressionChange(made.file, made.node, both)

    def _page_for(
        self,
        file: SourceFile,
        node: cst.BaseExpression,
        root: cst.BaseExpression,
        first: tuple[SourceFile, cst.BaseExpression] | None,
    ) -> cst.BaseExpression:
        """Return the name of the page where the expression stands."""
        if first is not None:
            there, start = first
            page = chain_of(start).root
            same = find_enclosing(there, start, cst.FunctionDef) is find_enclosing(
                file, node, cst.FunctionDef
            )
            if isinstance(page, cst.Name | cst.Attribute) and (same and there is file):
                return page
            alike = (
                find_enclosing(there, start, cst.ClassDef)
                is find_enclosing(file, node, cst.ClassDef)
                is not None
            )
            if isinstance(page, cst.Attribute) and there is file and alike:
                return page
        function = find_enclosing(file, node, cst.FunctionDef)
        if function is not None and any(each.name.value == "page" for each in function.params.params):
            return cst.Name("page")
        return cst.Attribute(root, cst.Name("page"))


def _requoted_link(link: cst.BaseExpression, quote: str) -> cst.BaseExpression:
    if not isinstance(link, cst.Call):
        return link
    return link.with_changes(
        args=[each.with_changes(value=requote_literal(each.value, quote)) for each in link.args]
    )


def _alike(ours: Sequence[LocatorLink], theirs: Sequence[LocatorLink]) -> int:
    count = 0
    for mine, its in zip(ours, theirs, strict=False):
        if not same_link(mine, its):
            break
        count += 1
    return count


def _together(places: Sequence[tuple[SourceFile, cst.BaseExpression] | None]) -> bool:
    """Return whether each link is called on the one before, in one expression."""
    if any(each is None for each in places):
        return False
    known = [each for each in places if each is not None]
    return all(get_receiver(after) is before for (_, before), (_, after) in pairwise(known))


__all__ = [
    "PatchRefusal",
    "fingerprint_patch",
    "get_method_name",
    "is_link",
    "propose_patch",
    "propose_wait_patch",
    "quoted",
]
