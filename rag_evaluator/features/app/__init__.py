"""The local web app: the pages of the report served from results folders, and a place to review rows."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
