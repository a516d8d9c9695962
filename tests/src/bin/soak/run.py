"""Runs a trace or a network at a server, and says the run's event hash.

run.py WHAT ADDRESS [own-memory]
"""

import sys

import vp

what, address, *options = sys.argv[1:]
with vp.connect(address, own_memory="own-memory" in options) as platform:
    if what.endswith(".cfg"):
        vp.run_trace(what, platform)
    else:
        vp.run_network(what, platform)
    print("event hash", platform.event_hash)
