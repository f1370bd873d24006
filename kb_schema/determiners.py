"""English words before a noun, such as `the`: what follows one is the name of a thing, not a verb."""

DETERMINERS = frozenset(
    ["a", "an", "the", "my", "your", "our", "his", "her", "its", "their", "this", "that", "these", "those"]
)
DEFINITE = DETERMINERS - {"a", "an"}
"""Those before a thing that is there already: `place an order` makes one."""
