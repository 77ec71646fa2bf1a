"""Several processes in a lesson: functions that run on ranks, and what the ranks did as one picture."""
