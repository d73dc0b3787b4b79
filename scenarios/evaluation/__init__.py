"""Filter schemes judged on traces of any size: the broker's rules in batches, without the messages."""

from bypass.scenarios.evaluation.evaluator import check_evaluation, evaluate
from bypass.scenarios.evaluation.events import make_workload
from bypass.scenarios.evaluation.publishing import write_publications
from bypass.scenarios.evaluation.results.evaluation import Evaluation
from bypass.scenarios.evaluation.results.picture import draw
from bypass.scenarios.evaluation.schemes import InvalidEvaluation, Scheme, parse_schemes

__all__ = [
    "Evaluation",
    "InvalidEvaluation",
    "Scheme",
    "check_evaluation",
    "draw",
    "evaluate",
    "make_workload",
    "parse_schemes",
    "write_publications",
]
