"""The tools, grouped by the question they answer; `offered` has them all."""
