"""Memory for any MCP client: tools, resources and prompts, over standard input and output or HTTP (ADR 0061)."""
