"""Classifies handwritten digits from numpy with the network `digits`: on a platform in this process, or on one of a server.

    python examples/python/digits.py [ADDRESS]
"""

import sys

import numpy as np

import vp


def main() -> None:
    images, labels = vp.digits()
    platform = vp.connect(sys.argv[1]) if len(sys.argv) > 1 else vp.Platform("nv_small")
    with platform as p:
        run = vp.run_network("digits", p, input=images[:100])
        assert run.output is not None
        answers = run.output.reshape(-1, 10).argmax(axis=1)
        right = int(np.sum(answers == labels[:100]))
        print(f"{right} of 100 right; {run.cycles // run.frames} cycles an image, {run.frames_per_second:.0f} images/s at {p.period} a cycle")
        for layer in run.layers:
            print(f"{layer['name']:8} {layer['cycles'] // run.frames:6} cycles  bound by {layer['bound_by'] or '-'}")
        print("event hash", run.event_hash)


if __name__ == "__main__":
    main()
