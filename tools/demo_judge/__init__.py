"""Builds the demo judge: a toy language model trained from nothing on generated facts."""
