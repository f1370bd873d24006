"""What `from periplus import ...` offers. `docs/python.md` has an example of each name; commands do not import it."""
