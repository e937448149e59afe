"""Training: schedules, the loop, and the run that composes everything."""
