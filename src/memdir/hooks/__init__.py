"""What a coding agent calls at its events: `memdir hook HOST EVENT`, and the worker that learns (ADR 0060)."""
