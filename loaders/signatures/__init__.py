"""From pages that were seen to how their screens are known again: grouping, learning, naming."""
