"""The answer keys: right answers, and wrong ones with the words by which a lesson must recognise them.

They are in the source distribution, for teachers, and never in the wheel.
"""

from tests.lessons.answers import (
    lesson00,
    lesson01,
    lesson02,
    lesson03,
    lesson04,
    lesson05,
    lesson06,
    lesson07,
    lesson08,
    lesson09,
    lesson10,
    lesson11,
    lesson12,
    lesson13,
    lesson14,
    lesson15,
    lesson16,
    lesson17,
    lesson18,
    lesson19,
    lesson20,
    lesson21,
    lesson22,
)
from tests.lessons.answers.kinds import Key

KEYS: dict[str, Key] = {
    "00_build_it_yourself": lesson00.KEY,
    "01_tensors_and_leaves": lesson01.KEY,
    "02_requires_grad": lesson02.KEY,
    "03_next_functions": lesson03.KEY,
    "04_engine": lesson04.KEY,
    "05_accumulation": lesson05.KEY,
    "06_hooks": lesson06.KEY,
    "07_grad_modes": lesson07.KEY,
    "08_inplace_and_versions": lesson08.KEY,
    "09_function": lesson09.KEY,
    "10_checkpoint": lesson10.KEY,
    "11_modules_and_optimisers": lesson11.KEY,
    "12_higher_order": lesson12.KEY,
    "13_capstone": lesson13.KEY,
    "14_many_processes": lesson14.KEY,
    "15_compiler": lesson15.KEY,
    "16_build_the_engine": lesson16.KEY,
    "17_broadcasting": lesson17.KEY,
    "18_writing_into_tensors": lesson18.KEY,
    "19_numbers_that_break": lesson19.KEY,
    "20_a_whole_model": lesson20.KEY,
    "21_puzzles": lesson21.KEY,
    "22_the_other_direction": lesson22.KEY,
}
