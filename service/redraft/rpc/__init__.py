"""The gRPC edge: translates between proto messages and the domain."""

DEFAULT_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Largest message in either direction; gRPC refuses a larger one with RESOURCE_EXHAUSTED."""
