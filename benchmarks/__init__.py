"""Measurements: the way ragas is used with local models today against this project, in one process."""
