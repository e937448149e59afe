"""`python -m regard.serve.worker`, which only the server calls."""

from regard.serve.worker.child import main

main()
