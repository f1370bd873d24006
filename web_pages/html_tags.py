"""Sets of HTML tags: which are shown, which have text, which are fields."""

from __future__ import annotations

from kb_schema.page_snapshots import FRAME_TAG, SHADOW_TAG

VISUAL_TAGS = frozenset({"img", "svg", "area"})
FIELD_TAGS = frozenset({"input", "select", "textarea", "button"})
HOLDER_TAGS = frozenset({SHADOW_TAG, FRAME_TAG})
"""Our own tags: they hold shadow roots and frame documents."""
TEXTLESS_TAGS = HOLDER_TAGS | {
    "script",
    "style",
    "template",
    "noscript",
    "textarea",
    "iframe",
    "frame",
    "noembed",
    "noframes",
}
INLINE_TAGS = frozenset(
    {
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "code",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "ins",
        "kbd",
        "label",
        "mark",
        "nobr",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tspan",
        "tt",
        "u",
        "var",
        "wbr",
    }
)
NEVER_SHOWN_TAGS = HOLDER_TAGS | {
    "head",
    "script",
    "style",
    "template",
    "noscript",
    "title",
    "meta",
    "link",
    "base",
    "datalist",
    "source",
    "track",
    "param",
    "area",
}
FLAT_TAGS = frozenset(
    {
        "p",
        "li",
        "dt",
        "dd",
        "td",
        "th",
        "tr",
        "tbody",
        "thead",
        "tfoot",
        "option",
        "optgroup",
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "rp",
        "rt",
        "html",
        "head",
        "body",
    }
)
"""Tags that the parser closes itself, and empty tags: these do not nest."""
FORMATTING_TAGS = frozenset(
    {
        "a",
        "b",
        "big",
        "code",
        "em",
        "font",
        "i",
        "nobr",
        "s",
        "small",
        "strike",
        "strong",
        "tt",
        "u",
    }
)
"""Tags that the parser reopens, element by element, if they were left open (HTML 13.2.4.3)."""
INPUT_BUTTONS = frozenset({"button", "submit", "reset"})
TOGGLE_ROLES = frozenset({"checkbox", "switch", "radio", "menuitemcheckbox", "menuitemradio"})
INPUT_TYPES = frozenset(
    {
        "button",
        "checkbox",
        "color",
        "date",
        "datetime-local",
        "email",
        "file",
        "hidden",
        "image",
        "month",
        "number",
        "password",
        "radio",
        "range",
        "reset",
        "search",
        "submit",
        "tel",
        "text",
        "time",
        "url",
        "week",
    }
)
