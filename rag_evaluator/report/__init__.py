"""What a run looks like: pages of figures and rows, made from the files of a results folder."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
