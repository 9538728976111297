"""Puts memdir into the settings of coding agents, looks after it there, and takes it out again (ADR 0064)."""
