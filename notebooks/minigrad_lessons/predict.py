"""Predict, then run: `predict` notes what the student expects, `reveal` shows what happened and asks why."""

from minigrad_lessons import notes
from minigrad_lessons.bank import PREDICTIONS
from minigrad_lessons.bank.kinds import Why, recognise
from minigrad_lessons.values import same, show, unanswered, unsure

_said: dict[str, object] = {}


def predict(id: str, answer: object) -> None:
    """Note an answer, given before the run. `...` means not yet; "?" means: I do not know, show me."""
    if id not in PREDICTIONS:
        raise KeyError(f"There is no prediction {id!r}. There are: {', '.join(sorted(PREDICTIONS))}.")
    if unanswered(answer):
        _said.pop(id, None)
        print(f'{id}  not yet: put your answer in place of the dots ("?" if you do not know), then run this cell.')
        return
    _said[id] = answer
    print(f"{id}  noted: {show(answer)}. Now run the next cell.")


def reveal(id: str, found: object, why: object = ...) -> None:
    """Show what the run gave, beside the prediction; then ask why, and judge the reason by running it."""
    if id not in _said:
        print(f"{id}  not yet: predict in the cell above and run it. Then run this cell again.")
        return
    said, entry = _said[id], PREDICTIONS[id]
    print(f"{id}  The run says: {show(found)}.")
    if unsure(said):
        notes.note("predict", id, "open")
        print("    You left it open. Now you know what happens; find out why.")
    elif same(said, found):
        notes.note("predict", id, "same")
        print(f"    You said: {show(said)}. The same.")
    else:
        notes.note("predict", id, "differs")
        belief = recognise(said, entry.beliefs, same)
        print(f"    You said: {show(said)}. It differs.")
        print(f'    People say so who think: "{belief}"' if belief else f"    {entry.look}")
    _ask(id, entry.why, why)


def _ask(id: str, question: Why, letter: object) -> None:
    if unanswered(letter):
        print(f"    {question.text}")
        for key, reason in question.reasons.items():
            print(f"      {key}  {reason.text}")
        print('    Choose: write why="a", why="b" or why="c" into this cell and run it again.')
        return
    key = str(letter).strip(" .)").lower()
    if key not in question.reasons:
        print(f"    {show(letter)} is none of the reasons: write one of {', '.join(question.reasons)}.")
        return
    refuted = question.refute(key)
    notes.note("why", id, "holds" if refuted is None else "fails")
    if refuted is None:
        print(f"    Reason {key} holds: {question.reasons[key].text}. It was tried on:")
        width = max(map(len, question.cases))
        for code, found in question.found().items():
            print(f"      {code.ljust(width)}  gives {show(found)}")
    else:
        code, expected, found = refuted
        print(f'    Reason {key} does not hold: "{question.reasons[key].text}"')
        print(f"    For  {code}  it expects {show(expected)}; the run says {show(found)}.")
