"""Metrics that are not ragas', with the methods of ragas' classes."""
