"""Burns a second of CPU time in leaf(); with "push", pyroscope-io samples and pushes it.

With "pyinstrument", that samples it and writes a file of speedscope to standard output.
"""

import os
import sys
import time


def leaf(cpu_seconds):
    n = 0
    while time.process_time() < cpu_seconds:
        n += 1
    return n


def main():
    if "push" in sys.argv:
        import pyroscope

        pyroscope.configure(
            application_name="push.python",
            server_address=os.environ["PUSH_URL"],
            basic_auth_username="any",
            basic_auth_password=os.environ["PUSH_KEY"],
            tenant_id="tenant",
            tags={"region": "eu"},
        )
    if "pyinstrument" in sys.argv:
        from pyinstrument import Profiler
        from pyinstrument.renderers import SpeedscopeRenderer

        with Profiler() as profiler:
            leaf(time.process_time() + 1)
        print(SpeedscopeRenderer().render(profiler.last_session))
        return
    leaf(time.process_time() + 1)
    if "push" in sys.argv:
        pyroscope.shutdown()


main()
