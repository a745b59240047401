"""A vLLM server that we start and stop ourselves."""
