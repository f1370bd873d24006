"""The compiled knowledge of each website, where it comes from, and how it changes."""
