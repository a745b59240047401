"""The run protocol: units by columns in chunks, shared by workers, kept the moment they exist, merged at the end."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
