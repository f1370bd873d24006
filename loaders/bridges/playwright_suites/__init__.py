"""Reads Playwright suites (Python, TypeScript) as a draft of a knowledge base."""
