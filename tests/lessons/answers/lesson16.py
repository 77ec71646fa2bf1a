"""The key of "Build the engine"."""

from tests.lessons.answers.kinds import Key, Wrong

ENGINE = """def backward(loss):
    needs = count(loss.grad_fn)
    arrived = {loss.grad_fn: [torch.ones_like(loss)]}
    ready = [loss.grad_fn]
    while ready:
        node = ready.pop()
        results = node(*arrived.pop(node))
        if not isinstance(results, tuple):
            results = (results,)
        for (below, slot), result in zip(node.next_functions, results):
            if below is None:
                continue
            sums = arrived.setdefault(below, [None] * takes(below))
            if result is not None:
                sums[slot] = result if sums[slot] is None else sums[slot] + result
            needs[below] -= 1
            if needs[below] == 0:
                ready.append(below)


check.engine(backward)"""

RECURSION = """def backward(loss):
    def walk(node, grad):
        results = node(grad)
        for (below, _), result in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
            if below is not None:
                walk(below, result)
    walk(loss.grad_fn, torch.ones_like(loss))


check.engine(backward)"""

WAITING_RECURSION = """def backward(loss):
    needs, arrived = count(loss.grad_fn), {}
    def walk(node, grads):
        results = node(*grads)
        for (below, slot), result in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
            if below is None:
                continue
            sums = arrived.setdefault(below, [None] * takes(below))
            if result is not None:
                sums[slot] = result if sums[slot] is None else sums[slot] + result
            needs[below] -= 1
            if needs[below] == 0:
                walk(below, sums)
    walk(loss.grad_fn, [torch.ones_like(loss)])


check.engine(backward)"""

# Each node once, in the order in which a search meets it first.
FIRST_MET = """def backward(loss):
    arrived, queue, seen = {loss.grad_fn: [torch.ones_like(loss)]}, [loss.grad_fn], {loss.grad_fn}
    while queue:
        node = queue.pop(0)
        results = node(*arrived[node])
        for (below, slot), result in zip(node.next_functions, results if isinstance(results, tuple) else (results,)):
            if below is None:
                continue
            sums = arrived.setdefault(below, [None] * takes(below))
            if result is not None:
                sums[slot] = result if sums[slot] is None else sums[slot] + result
            if below not in seen:
                seen.add(below)
                queue.append(below)


check.engine(backward)"""

SUM = "sums[slot] = result if sums[slot] is None else sums[slot] + result"

WRONG: tuple[Wrong, ...] = (
    (RECURSION, "A recursion calls a node once for each path"),
    (FIRST_MET, "is called too early, with the partial sum"),
    (ENGINE.replace(SUM, "sums[slot] = result"), "That is only one of the 2 gradients"),
    (ENGINE.replace(SUM, "sums[slot] = result if sums[slot] is None else sums[slot]"), "Add up what arrives"),
    (ENGINE.replace("[slot]", "[0]"), "keep one sum for each"),
    (ENGINE.replace("node(*arrived.pop(node))", "node(arrived.pop(node)[0])"), "takes(node) says how many"),
    (WAITING_RECURSION, "too deep for Python's recursion"),
    (ENGINE.replace("            needs[below] -= 1", "            needs[below] -= 2"), "was never called"),
    (ENGINE.replace("            if below is None:\n                continue\n", ""), "A pair (None, 0) is an input"),
    (ENGINE.replace("torch.ones_like(loss)", "torch.zeros_like(loss)"), "backward() starts with 1"),
    (ENGINE.replace("    while ready:", "    while False:"), "it called no node"),
    (ENGINE.replace("        if not isinstance(results, tuple):\n            results = (results,)\n", ""),
     "raised TypeError"),
)

KEY = Key(recall={}, recall_wrong={}, predict={}, predict_wrong={}, why={},
          exercises={"write": ENGINE}, exercises_wrong={"write": WRONG})
