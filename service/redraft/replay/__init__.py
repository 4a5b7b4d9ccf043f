"""Model-free evaluation of drafting on (before, after) pairs."""
