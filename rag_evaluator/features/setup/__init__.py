"""What this machine and its Python have of what a run needs: read, never changed; nothing here loads a model."""
