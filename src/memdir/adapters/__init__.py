"""Memory in the form that other people's programs expect: one module for each, loaded by whoever uses it."""
