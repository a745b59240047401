"""`probe`: changes the user's own rows for the worse, by rules, and looks whether the judge notices."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
