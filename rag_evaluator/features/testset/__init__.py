"""Test sets: questions made from documents, checked one by one, and those that survive chosen."""
