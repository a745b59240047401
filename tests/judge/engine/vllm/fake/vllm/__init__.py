"""Looks like vLLM from outside: for tests of a server's life."""
