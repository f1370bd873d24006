"""Implements `periplus map`: explores a website and builds a knowledge base from the result."""
