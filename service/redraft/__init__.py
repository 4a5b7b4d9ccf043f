"""redraft: document rewriting with the document as the speculative draft. Imports nothing heavy."""
