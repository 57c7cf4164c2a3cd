"""The automatic choice."""
