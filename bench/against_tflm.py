#!/usr/bin/env python3
"""Linnet's reference kernels on the host beside TensorFlow Lite Micro's, in one run.

    bench/against_tflm.py build/host/bench/networks MODEL.tflite...

Takes TensorFlow Lite Micro from PyPI into a virtual environment of its own on the first run. Prints, per network, the
median time of both over alternating rounds and their ratio; below 1 Linnet is faster.
"""
import json
import os
import statistics
import subprocess
import sys
import time
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = os.path.join(HERE, "..", "build", "tflm-venv")
PACKAGES = ["numpy==2.4.6", "flatbuffers==25.12.19", "pyyaml==6.0.3"]
ROUNDS = 7


def enter_environment():
    python = os.path.join(ENVIRONMENT, "bin", "python")
    if not os.path.exists(python):
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.check_call([python, "-m", "pip", "-q", "install", *PACKAGES])
        # It declares TensorFlow, which the interpreter itself does not need.
        subprocess.check_call([python, "-m", "pip", "-q", "install", "--no-deps", "tflite-micro"])
    if os.path.realpath(sys.prefix) != os.path.realpath(ENVIRONMENT):
        os.execv(python, [python, *sys.argv])


def tflm_round(interpreter, seconds=0.3):
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        interpreter.invoke()
        count += 1
    return (time.perf_counter() - start) / count


def linnet_round(program, model):
    text = subprocess.check_output(
        [program, model, "--benchmark_format=json", "--benchmark_min_time=0.3"], stderr=subprocess.DEVNULL)
    return json.loads(text)["benchmarks"][0]["cpu_time"] * 1e-6


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    enter_environment()
    from tflite_micro.python.tflite_micro import runtime
    print(f"{'network':<28}{'Linnet us':>12}{'TFLM us':>12}{'ratio':>8}")
    for path in sys.argv[2:]:
        try:
            interpreter = runtime.Interpreter.from_file(path, arena_size=4 << 20)
        except Exception as error:
            print(f"{os.path.basename(path):<28}  TFLM refuses it: {str(error).splitlines()[0][:60]}")
            continue
        pairs = [(linnet_round(sys.argv[1], path), tflm_round(interpreter)) for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(side) for side in zip(*pairs))
        ratio = statistics.median(a / b for a, b in pairs)
        print(f"{os.path.basename(path):<28}{ours * 1e6:>12.1f}{theirs * 1e6:>12.1f}{ratio:>8.2f}")


main()
