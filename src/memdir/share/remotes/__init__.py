"""Where a team's memories are kept: a shared folder, a git repository, a hub (E7)."""
