"""Sinks for events."""
