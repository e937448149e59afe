"""What a run of running or labelled text can do: load it, one verb each."""
