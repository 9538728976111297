"""Models: one protocol, and those that speak it. SDKs are extras, imported when used."""
