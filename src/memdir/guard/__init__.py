"""What a person has a say in before a tool runs: guards that hold (ADR 0062), and what is asked (ADR 0066)."""
