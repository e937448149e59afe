"""Translation itself: texts in, answers out, without anything of HTTP but refusals and limits."""
