"""Runs beside each other: compare, gate, and what both read."""
