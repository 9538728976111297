"""What an agent can do: read, search, write, run. One file a tool."""
