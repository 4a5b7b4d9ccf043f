"""The gRPC edge: translates between proto messages and the domain."""
