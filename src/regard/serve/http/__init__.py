"""HTTP: who may ask for how much, what was sent, and how it is answered, logged and counted."""
