"""The worker: the process that has the models. The server asks it, and starts it again."""
