"""Judges that another program runs: a server with an OpenAI-compatible interface."""
