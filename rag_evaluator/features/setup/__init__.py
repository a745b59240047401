"""What this machine and its Python have of what a run needs: read, never changed; nothing here loads a model."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
