"""`python -m rag_evaluator config.yaml` does the same as `rag-evaluator config.yaml`."""

import sys

from rag_evaluator.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
