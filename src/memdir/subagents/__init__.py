"""What files define for an agent: sub-agents, how one runs, what it remembers, snapshots of that (A1-A3); commands."""
