# What type checkers see: the four questions as functions, which the modules of the same name are.
from kvdocs.cost import cost as cost
from kvdocs.explain.answer import explain as explain
from kvdocs.fit.options import ask as fit
from kvdocs.workload.answer import workload as workload

__version__: str
__all__ = ["cost", "explain", "fit", "workload"]
