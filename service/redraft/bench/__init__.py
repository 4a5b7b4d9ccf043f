"""Wall time against what a user would pick instead."""
