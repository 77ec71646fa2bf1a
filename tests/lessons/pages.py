"""Brings the pages of docs/ that are made from the lessons up to date: `python -m tests.lessons.pages`."""

from minigrad_lessons.questions import OPEN
from tests.lessons import questions_page, teaching_page

if __name__ == "__main__":
    for maker in (questions_page, teaching_page):
        maker.PAGE.write_text(maker.page(), encoding="utf-8")
    answered = sorted(set(OPEN) - questions_page.unanswered())
    print("To take out of OPEN in minigrad_lessons/questions.py:", *(answered or ["nothing"]))
