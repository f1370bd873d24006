"""Transforms of values on their way into a task (KS 9.2). One class under `@transform` is one entry.

Values are JSON; dates are ISO 8601 strings or `datetime`/`date` objects until formatted. Whatever a
value is, a transform gives a value or raises `TransformError`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union

import re2
from pydantic import AliasChoices, Field, field_validator, model_validator

from kb_schema import url_patterns
from kb_schema.base import Model
from kb_schema.templates import as_text


class TransformError(ValueError):
    """A value a transform cannot take. Says what it got and what it expected."""


class BaseTransform(Model):
    """The base of all transforms."""

    type: str

    def apply(self, value: Any) -> Any:
        """Return the transformed value. Raises `TransformError`."""
        raise NotImplementedError


TransformT = TypeVar("TransformT", bound=type[BaseTransform])
TRANSFORMS: list[type[BaseTransform]] = []


def transform(kind: TransformT) -> TransformT:
    """Register a transform under the names that its `type` lists."""
    TRANSFORMS.append(kind)
    return kind


@transform
class AddTime(BaseTransform):
    """Date arithmetic. A date plus hours becomes a date and time."""

    type: Literal["add_days", "add_hours", "add_minutes"]
    value: float = Field(allow_inf_nan=False, ge=-1e6, le=1e6)

    def apply(self, value: Any) -> date:
        """A date stays a date when whole days are added."""
        unit = self.type.removeprefix("add_")
        moment = _moment(value)
        delta = timedelta(**{unit: self.value})
        if not isinstance(moment, datetime) and unit != "days":
            moment = datetime.combine(moment, time())
        try:
            return moment + delta
        except OverflowError as exc:
            raise TransformError(f"{value!r} and {self.value:g} {unit} is beyond the calendar") from exc


@transform
class FormatDate(BaseTransform):
    """A date as text. Tokens: YYYY YY MMMM MMM MM M DD D HH mm ss; everything else is literal."""

    type: Literal["format_date"]
    format: str = Field(min_length=1)

    def apply(self, value: Any) -> str:
        """Use English month names."""
        moment = _moment(value)
        return _DATE_TOKEN.sub(lambda m: _DATE_TOKENS[m[0]](moment), self.format)


@transform
class FormatPhone(BaseTransform):
    """Digits in a pattern: each `#` takes one digit, from the right; surplus digits come first."""

    type: Literal["format_phone"]
    format: str = "+# (###) ###-####"

    def apply(self, value: Any) -> str:
        """With fewer digits than `#`, cut the pattern on the left."""
        digits = [c for c in as_text(value) if c.isdigit()]
        if not digits:
            raise TransformError(f"format_phone needs digits, got {value!r}")
        out: list[str] = []
        for char in reversed(self.format):
            if char == "#":
                if not digits:
                    break
                out.append(digits.pop())
            else:
                out.append(char)
        text = "".join(reversed(out)).lstrip(" )-.")
        return "".join(digits) + text if digits else text


@transform
class FormatCurrency(BaseTransform):
    """A number with symbol, separators and two decimals (half up)."""

    type: Literal["format_currency"]
    symbol: str = Field(default="$", validation_alias=AliasChoices("symbol", "currency"))
    """A literal symbol, or the code of a currency (`EUR`)."""
    decimals: int = Field(default=2, ge=0, le=6)

    @field_validator("symbol")
    @classmethod
    def _of_a_code(cls, value: str) -> str:
        return _SYMBOLS.get(value, value)

    def apply(self, value: Any) -> str:
        """Put the sign of a negative amount first: `-$1,000.00`."""
        amount = _decimal(value)
        try:
            amount = amount.quantize(Decimal(1).scaleb(-self.decimals), rounding=ROUND_HALF_UP)
        except InvalidOperation as exc:
            raise TransformError(f"{value!r} is too large an amount") from exc
        sign = "-" if amount < 0 else ""
        return f"{sign}{self.symbol}{abs(amount):,.{self.decimals}f}"


@transform
class UngroupNumber(BaseTransform):
    """A number without grouping of its thousands: `1,750.50` and `1.750,50` become `1750.50`.

    Every other text is unchanged. `1.750` alone could be a fraction, so it is unchanged too.
    """

    type: Literal["ungroup_number"]

    def apply(self, value: Any) -> Any:
        """Only texts are read: a JSON number has no grouping."""
        return ungroup_number(value) if isinstance(value, str) else value


@transform
class ChangeCase(BaseTransform):
    """Text in another case; `capitalize` is the first letter of every word."""

    type: Literal["uppercase", "lowercase", "capitalize"]

    def apply(self, value: Any) -> str:
        """Unicode-aware; `capitalize` does not change the rest of each word."""
        text = as_text(value)
        if self.type == "uppercase":
            return text.upper()
        if self.type == "lowercase":
            return text.lower()
        return re.sub(r"(?:^|(?<=\s))\S", lambda m: m[0].upper(), text)


@transform
class ExtractRegex(BaseTransform):
    """The part of a text that a group of an RE2 pattern matches; no match is an error."""

    type: Literal["extract_regex"]
    pattern: str = Field(min_length=1)
    group: int | None = Field(default=None, ge=0)
    """Default: group 1 if there is one, else the whole match."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        url_patterns.compile_pattern(value)
        return value

    @model_validator(mode="after")
    def _has_the_group(self) -> ExtractRegex:
        there = url_patterns.compile_pattern(self.pattern).groups
        if self.group is not None and self.group > there:
            raise ValueError(f"group {self.group} of a pattern with {there}")
        return self

    def apply(self, value: Any) -> str:
        """Return the first match."""
        compiled = url_patterns.compile_pattern(self.pattern)
        match = compiled.search(as_text(value))
        if match is None:
            raise TransformError(f"{self.pattern!r} matches nothing in the value")
        group = self.group if self.group is not None else min(compiled.groups, 1)
        return match.group(group) or ""


@transform
class ReplaceRegex(BaseTransform):
    r"""Replaces every match of an RE2 pattern; `\1` refers to a group."""

    type: Literal["replace_regex"]
    pattern: str = Field(min_length=1)
    replacement: str = ""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        url_patterns.compile_pattern(value)
        return value

    def apply(self, value: Any) -> str:
        """Replace all matches."""
        try:
            return str(url_patterns.compile_pattern(self.pattern).sub(self.replacement, as_text(value)))
        except (re2.error, IndexError) as exc:
            raise TransformError(f"{self.replacement!r} cannot take the place of {self.pattern!r}") from exc


@transform
class Concat(BaseTransform):
    """Text before and after the value."""

    type: Literal["concat"]
    prefix: str = ""
    suffix: str = Field(default="", validation_alias=AliasChoices("suffix", "value"))

    def apply(self, value: Any) -> str:
        """Return `prefix + value + suffix`."""
        return f"{self.prefix}{as_text(value)}{self.suffix}"


@transform
class Calculate(BaseTransform):
    """Arithmetic on the value, named `value`: `+ - * / // % ( )` and unary minus; no `eval`."""

    type: Literal["calculate"]
    expression: str = Field(min_length=1, max_length=500)

    @field_validator("expression")
    @classmethod
    def _parses(cls, text: str) -> str:
        try:
            _calculate(text, Decimal(1))
        except TransformError as exc:
            if not isinstance(exc.__cause__, _UNCOMPUTABLE):  # the formula may be valid for another value
                raise
        return text

    def apply(self, value: Any) -> int | float:
        """Exact decimal arithmetic; a whole result is an `int`."""
        result = _calculate(self.expression, _decimal(value))
        if not result.is_finite() or abs(result.adjusted()) > _LARGEST:
            raise TransformError(f"{self.expression!r} of {value!r} is out of range")
        return int(result) if result == result.to_integral_value() else float(result)


@transform
class Arithmetic(BaseTransform):
    """The sum, difference or product of the two values of a text: `12 - 5`, `$20 + $5`, `2026-03-01 - 2026-02-27`.

    Amounts must have one unit, which the result does not have. The difference of two dates is in days.
    """

    type: Literal["arithmetic"]

    def apply(self, value: Any) -> str:
        """Return a plain number."""
        told = _TWO_VALUES.fullmatch(as_text(value).strip())
        if told is None:
            raise TransformError(f"expected two values with + - or * between them, got {value!r}")
        one, other = _read_operand(told["one"]), _read_operand(told["other"])
        if one[1] != other[1] or (one[1] == "date" and told["sign"] != "-"):
            raise TransformError(f"{told['one']!r} {told['sign']} {told['other']!r} are values of two kinds")
        result = {"+": operator.add, "-": operator.sub, "*": operator.mul}[told["sign"]](one[0], other[0])
        return format(result.normalize(), "f")


if TYPE_CHECKING:
    Transform = BaseTransform
else:
    Transform = Annotated[Union[tuple(TRANSFORMS)], Field(discriminator="type")]  # noqa: UP007 - of a list


def ungroup_number(text: str) -> str:
    """Return a number without its grouping; every other text unchanged.

    >>> ungroup_number("1,750.50"), ungroup_number("1.750,50"), ungroup_number("1.750"), ungroup_number("Bay 1,2")
    ('1750.50', '1750.50', '1.750', 'Bay 1,2')
    """
    plain = text.strip()
    if _GROUPED_BY_COMMA.fullmatch(plain):
        return re.sub(r"[,'\s]", "", plain)
    if _GROUPED_BY_POINT.fullmatch(plain):
        return plain.replace(".", "").replace(",", ".")
    return text


def apply_all(value: Any, transforms: tuple[Transform, ...]) -> Any:
    """Apply transforms in order. A resulting date becomes ISO 8601. Raises `TransformError`."""
    for each in transforms:
        value = each.apply(value)
    return value.isoformat() if isinstance(value, date) else value


def _read_operand(text: str) -> tuple[Decimal, str]:
    """Return a number with its unit, or a date as days with the unit `date`."""
    try:
        return Decimal(date.fromisoformat(text).toordinal()), "date"
    except ValueError:
        pass
    amount = _OPERAND.fullmatch(text)
    if amount is None:
        raise TransformError(f"expected a number, an amount or a date (ISO 8601), got {text!r}")
    return _decimal(ungroup_number(amount["number"])), amount["sign"] or ""


_TWO_VALUES = re.compile(r"(?P<one>\S+) (?P<sign>[-+*]) (?P<other>\S+)")
_OPERAND = re.compile(r"(?P<sign>[$\u20ac\u00a3\u00a5\u20b9]?)(?P<number>-?[\d.,]+)")
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹", "JPY": "¥", "CNY": "¥", "KRW": "₩", "BRL": "R$"}
_GROUPED_BY_COMMA = re.compile(r"-?[1-9]\d{0,2}(?:([,' \u00a0\u202f])\d{3})(?:\1\d{3})*(?:\.\d+)?")
_GROUPED_BY_POINT = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3})+,\d+")
_LARGEST = 100
"""The most digits before or after the point that are accepted."""
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DATE_TOKENS: dict[str, Callable[[date], str]] = {
    "YYYY": lambda d: f"{d.year:04d}",
    "YY": lambda d: f"{d.year % 100:02d}",
    "MMMM": lambda d: _MONTHS[d.month - 1],
    "MMM": lambda d: _MONTHS[d.month - 1][:3],
    "MM": lambda d: f"{d.month:02d}",
    "M": lambda d: str(d.month),
    "DD": lambda d: f"{d.day:02d}",
    "D": lambda d: str(d.day),
    "HH": lambda d: f"{getattr(d, 'hour', 0):02d}",
    "mm": lambda d: f"{getattr(d, 'minute', 0):02d}",
    "ss": lambda d: f"{getattr(d, 'second', 0):02d}",
}
_DATE_TOKEN = re.compile("|".join(sorted(_DATE_TOKENS, key=len, reverse=True)))


def _moment(value: Any) -> date:
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return (
                datetime.fromisoformat(value) if "T" in value or " " in value else date.fromisoformat(value)
            )
        except ValueError:
            pass
    raise TransformError(f"expected a date (ISO 8601), got {value!r}")


def _decimal(value: Any) -> Decimal:
    try:
        number = Decimal(as_text(value).strip().replace(",", ""))
    except InvalidOperation as exc:
        raise TransformError(f"expected a number, got {value!r}") from exc
    if not number.is_finite():
        raise TransformError(f"expected a finite number, got {value!r}")
    if abs(number.adjusted()) > _LARGEST:
        raise TransformError(f"{as_text(value)[:40]!r} is out of range")
    return number


_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


_UNCOMPUTABLE = (ZeroDivisionError, InvalidOperation, OverflowError)


def _calculate(expression: str, value: Decimal) -> Decimal:
    def walk(node: ast.expr) -> Decimal:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return Decimal(str(number))
            case ast.Name(id="value"):
                return value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -walk(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](walk(left), walk(right))
        raise TransformError(f"only numbers, `value` and + - * / // % are allowed in {expression!r}")

    try:
        return walk(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, RecursionError) as exc:
        raise TransformError(f"{expression!r} is not an expression") from exc
    except _UNCOMPUTABLE as exc:
        raise TransformError(f"{expression!r} cannot be computed for {value}") from exc
