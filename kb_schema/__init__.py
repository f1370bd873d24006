"""The vocabulary: what a knowledge base may say, and its rules. Imports nothing of Periplus."""
