"""Reports a pass to its observer: its start, each gradient that is sent on, its end, or the error that ended it.

A recorder sets the observer (recording/observer.py). Without one nothing here is called.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from minigrad.core.graph import Node
from minigrad.core.input_buffer import GraphTask

__all__ = ["ObservedPass"]


class ObservedPass:
    """A block in which a pass is reported. It begins with the gradients that leave `root`, each reported when sent."""

    def __init__(self, task: GraphTask, root: Node, grads: Sequence[Any]) -> None:
        self.task, self.root, self.grads = task, root, grads

    def __enter__(self) -> Iterable[Any]:
        task, root, evaluate = self.task, self.root, self.task.evaluate
        task.fast_path = False
        task.evaluate = lambda task, buffer: report(task, buffer.node, buffer.node, evaluate(task, buffer))
        starts = list(zip(root.next, root.output_nrs(), [getattr(grad, "array", grad) for grad in self.grads]))
        task.observer.backward_start(starts, task.dependencies, not task.first_order, task.keep_graph, task.inputs)
        return report(task, root, None, self.grads)

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None:
            self.task.observer.backward_end()
        else:
            self.task.observer.error(error)


def report(task: GraphTask, node: Node, source: Node | None, grads: Iterable[Any]) -> Iterator[Any]:
    """Yield the gradients unchanged. When `run` asks for the next one, it has added the last one, which is reported."""
    for index, (grad, target, output_nr) in enumerate(zip(grads, node.next, node.output_nrs())):
        missing = task.dependencies.get(target)
        yield grad
        if missing is not None:
            buffer, total = task.buffers.get(target), grad
            if buffer is not None:
                total = buffer.grad if buffer.node.outputs == 1 else buffer.grad[output_nr]
            task.observer.flow(source, index, target, output_nr, grad, total, missing == 1)
