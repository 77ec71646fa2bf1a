"""Recall: questions about earlier lessons, answered from memory before a new one begins."""

from minigrad_lessons import notes
from minigrad_lessons.bank import QUESTIONS
from minigrad_lessons.bank.kinds import recognise
from minigrad_lessons.values import same, show, unanswered, unsure


def recall(id: str, answer: object = ...) -> None:
    """Ask a question of the bank, and judge the answer by running it. It may be repeated as often as one likes."""
    if id not in QUESTIONS:
        raise KeyError(f"There is no question {id!r}. There are: {', '.join(sorted(QUESTIONS))}.")
    question = QUESTIONS[id]
    if unanswered(answer):
        print(f"{id}  not yet")
        return
    found = question.run()
    notes.note("recall", id, "open" if unsure(answer) else "right" if same(answer, found) else "wrong")
    if unsure(answer):
        print(f"{id}  To find out: {question.look}")
    elif same(answer, found):
        print(f"{id}  {show(answer)}: right.")
    else:
        belief = recognise(answer, question.beliefs, same)
        thought = f'somebody says so who thinks: "{belief}"' if belief else "that is not what the run gives."
        print(f"{id}  {show(answer)}: {thought}")
        print(f"      To find out: {question.look}")
