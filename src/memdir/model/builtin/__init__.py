"""The embedded model: no key, no network, deterministic; rules and small trained files instead of an LLM."""
