"""Features: a folder each, with its commands, functions, task and section of the configuration."""
