"""Generated from proto/redraft/v1 by `make proto`; only `redraft.rpc` and `redraft.client` import it."""
