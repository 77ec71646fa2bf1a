"""Brings the pages of docs/ that are made from the lessons up to date: `python -m tests.lessons.pages`."""

from minigrad_lessons.questions import OPEN
from tests.lessons import questions_page, teaching_page

if __name__ == "__main__":
    pages = {questions_page.PAGE: questions_page.page(), **teaching_page.pages()}
    for place, text in pages.items():
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    answered = sorted(set(OPEN) - questions_page.unanswered())
    print("To take out of OPEN in minigrad_lessons/questions.py:", *(answered or ["nothing"]))
