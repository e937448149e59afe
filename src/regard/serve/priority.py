"""The threads that load and compute give way to the event loops, which have little to do each time
but are waited for by every request.
"""

import os
import sys
import threading

NICENESS = 5


def give_way() -> None:
    """Lower the priority of this thread, and of those that it starts from now on. Nobody but root
    gets a priority back, so it must be a thread for nothing else.
    """
    if sys.platform == "linux":  # elsewhere a priority is that of the whole process
        niceness = os.getpriority(os.PRIO_PROCESS, os.getpid()) + NICENESS
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(19, niceness))
