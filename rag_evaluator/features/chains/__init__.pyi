from .collecting import collect as collect
from .evaluate_lists import Scores as Scores
from .evaluate_lists import evaluate as evaluate
from .langchain import EvaluatorChain as EvaluatorChain
