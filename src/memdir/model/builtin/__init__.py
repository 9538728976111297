"""The embedded default: a `Model` that needs no key and no network, is deterministic, and says that it is no LLM."""
