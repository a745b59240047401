"""The input rows, from a file, folder or Python object.

A row is read (`records`, `readers`, `json_values`), lines of a log are joined (`retrieval_log`), columns are renamed
and checked (`columns`, `values`), samples are kept (`sample`, `contents`), and checked for a run (`checked`).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
