"""Trains the demo model's adapter. Not part of the wheel."""
