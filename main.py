"""`python main.py config.yaml` evaluates; `python main.py --help` tells the rest."""

import sys

from rag_evaluator.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
