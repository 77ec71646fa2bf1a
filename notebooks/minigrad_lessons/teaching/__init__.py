"""For teachers: what a lesson holds and how long it takes, and what a class made of it (`minigrad lessons report`)."""
