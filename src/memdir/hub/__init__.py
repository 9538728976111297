"""The hub: team memory over HTTP, on SQLite or PostgreSQL (E7); docs/reference/hub.md is its contract (ADR 0068)."""
