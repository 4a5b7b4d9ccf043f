"""The engine: an edit's way through, in the order it happens."""
