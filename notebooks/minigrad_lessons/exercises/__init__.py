"""The checks of the exercises, one module for each lesson. They judge by running, never by a key."""
