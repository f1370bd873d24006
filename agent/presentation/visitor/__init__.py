"""Handles visitors: understands requests, answers questions, selects detours."""
