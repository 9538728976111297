"""Sub-agents of a chat: their definitions, how one runs, what each remembers, and snapshots of that (A1-A3)."""
