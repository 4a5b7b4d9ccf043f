"""Decides what to propose. Nothing here imports torch."""
