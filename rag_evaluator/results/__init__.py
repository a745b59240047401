"""Scores in memory and in files."""
