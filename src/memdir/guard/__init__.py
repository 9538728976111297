"""Rules that a person has checked before a tool runs: what a call does, which guards hold, the commands (ADR 0062)."""
