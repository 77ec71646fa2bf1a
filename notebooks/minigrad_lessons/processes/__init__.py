"""Several processes in a lesson: functions that run on ranks."""
