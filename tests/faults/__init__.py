"""Faults: what a crash, a full disk, a power cut or another writer may do to a store, and what they may not."""
