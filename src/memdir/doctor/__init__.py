"""Judges any store (O1): what is wrong with it, how bad that is, what to do, and what can be mended safely."""
