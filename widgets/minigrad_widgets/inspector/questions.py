"""Ask mode: which questions an inspector asks about a trace, and where.

A question names a kind and the step that answers it; the inspector stops before that step until it is answered. The
browser is handed its words, and judges the answers by the trace. `told` returns the questions as text, with the answers
given and whether they were right, but never the right answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minigrad.recorder import Trace
from minigrad.trace.format import Names

Question = dict[str, Any]
ANSWERS = {"next": "run", "shape": "flow", "grad": "accumulate"}  # which kind of event answers a kind of question
OF_EACH = 3
LARGEST = 6  # the most numbers that a student has to type
CHOICES = 5


def choose(trace: Trace, ask: bool | Iterable[str | Mapping[str, Any]]) -> list[Question]:
    """Return the questions in the order of their steps: all kinds (True), some kinds, or the given ones.

    Each has its words as `text`, and the nodes to choose from as `choices`. Raises ValueError if there is no such kind
    of question, or its step does not answer it.
    """
    wanted: list[Any] = list(ANSWERS) if ask is True else list(ask or ())
    found = [question for each in wanted
             for question in (made(trace, each) if isinstance(each, str) else [given(trace, each)])]
    words = Names(trace.to_dict()) if found else Names({})
    return [{**question, "text": wording(trace, words, question), "choices": choices(trace, question)}
            for _, question in sorted({question["step"]: question for question in found}.items())]


def given(trace: Trace, question: Mapping[str, Any]) -> Question:
    """Return a question that the user wrote, if the trace can answer it."""
    kind, step = question.get("kind"), question.get("step")
    if kind not in ANSWERS:
        raise ValueError(f"there is no question {kind!r}; the kinds are {', '.join(map(repr, ANSWERS))}")
    if not isinstance(step, int) or not 0 < step < len(trace.events) or not answers(trace, kind, step):
        raise ValueError(f"step {step!r} does not answer a question {kind!r}: it must be a {ANSWERS[kind]!r} event")
    return {"kind": kind, "step": step}


def answers(trace: Trace, kind: str, step: int) -> bool:
    """Return whether a step answers a question of this kind."""
    event = trace.events[step]
    if event["kind"] != ANSWERS[kind]:
        return False
    if kind == "grad":
        value = event["grad"]
        return value is not None and 0 < len(trace.values[value].get("data", ())) <= LARGEST
    return kind == "next" or event["gradient"] is not None


def made(trace: Trace, kind: str) -> list[Question]:
    """Return a few questions of a kind, where there is something to think about. Raises ValueError if there is no such
    kind."""
    if kind not in ANSWERS:
        raise ValueError(f"there is no question {kind!r}; the kinds are {', '.join(map(repr, ANSWERS))}")
    steps = [step for step in range(1, len(trace.events)) if answers(trace, kind, step)]
    worth = [step for step in steps if hard(trace, kind, step)]
    return [{"kind": kind, "step": step} for step in sorted((worth or steps)[:OF_EACH])]


def hard(trace: Trace, kind: str, step: int) -> bool:
    """Whether a question is worth asking: several nodes could run, a gradient changes its shape; `.grad` always is."""
    event = trace.events[step]
    if kind == "next":
        return len(trace.frame(step - 1)["ready"]) > 1
    if kind == "shape":
        runs = [e for e in trace.events[:step] if e["kind"] == "run" and e["node"] == event["node"]]
        came = [trace.values[value]["shape"] for value in runs[-1]["gradient"] if value is not None] if runs else []
        return trace.values[event["gradient"]]["shape"] not in came
    return True


def choices(trace: Trace, question: Question) -> list[int]:
    """Return the nodes to choose from: ready ones, then waiting ones, in an order that tells nothing."""
    if question["kind"] != "next":
        return []
    step = question["step"]
    frame, node = trace.frame(step - 1), trace.events[step]["node"]
    waiting = [each for each in frame["needs"] if frame["status"].get(each) == "waiting"]
    first = [] if node is None else [node]
    return sorted(list(dict.fromkeys([*first, *frame["ready"], *waiting]))[:CHOICES])


def wording(trace: Trace, words: Names, question: Question) -> str:
    """Return a question in words."""
    event: Mapping[str, Any] = trace.events[question["step"]]
    if question["kind"] == "shape":
        return f"What shape has the gradient that {words.node(event['node'])} sends to {words.node(event['to'])}?"
    if question["kind"] == "grad":
        return f"What will {words.tensor(event['tensor'])}.grad be once this gradient is added?"
    return "Which node runs next?"


def told(trace: Trace, questions: Sequence[Question], answered: Iterable[Mapping[str, Any]]) -> str:
    """Return all questions as text, with the answers given to them, and the score."""
    words, given = Names(trace.to_dict()), {answer["step"]: answer for answer in answered}
    right = sum(answer["right"] for answer in given.values())
    lines = [f"it asks: {right} of {len(given)} right, {len(questions) - len(given)} to come"]
    for question in questions:
        line = f"before step {question['step']}: {question['text']}"
        if question["choices"]:
            line += f" {', '.join(option(trace, words, node) for node in question['choices'])}"
        answer = given.get(question["step"])
        lines.append(line if answer is None else f"{line} answered, {'right' if answer['right'] else 'not so'}")
    return "\n".join(lines)


def option(trace: Trace, words: Names, node: int) -> str:
    """Return a node to choose, by the name of its tensor if it has one, as on its box."""
    record = trace.nodes[node]
    name = trace.tensors[record["outputs"][0]]["name"] if record["outputs"] else None
    word, number = f"{record['name']} ({name})" if name else words.node(node), record["sequence_nr"]
    return word if number is None else f"{word} nr {number}"


def is_secret(trace: Trace, questions: Iterable[Question], answered: Iterable[Mapping[str, Any]], step: int) -> bool:
    """Whether the next step answers an open question of which node runs next: the ready queue would reveal it."""
    known = {answer["step"] for answer in answered}
    return any(question["kind"] == "next" and question["step"] == step + 1 and step + 1 not in known
               for question in questions)
