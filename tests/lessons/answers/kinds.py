"""What an answer key holds."""

from dataclasses import dataclass

Wrong = tuple[str, str]  # what a student writes, and words of the answer that they must get


@dataclass(frozen=True)
class Key:
    """The key of one lesson. Values are Python source, put where the dots are; exercises are whole cells, by id."""

    recall: dict[str, str]
    recall_wrong: dict[str, tuple[Wrong, ...]]
    predict: dict[str, str]
    predict_wrong: dict[str, tuple[Wrong, ...]]
    why: dict[str, str]
    exercises: dict[str, str]
    exercises_wrong: dict[str, tuple[Wrong, ...]]
