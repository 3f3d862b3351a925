#!/usr/bin/env python3
"""Plans networks with `linnet plan -o` and runs them in TensorFlow Lite Micro before and after.

    planned_files.py LINNET FOLDER...

For every .tflite in the folders: the same outputs, and TFLM's own figure of its activation memory is the planned one
(`tflm_activation_bytes`) and not above what it was. Status 1 if one differs. Networks that TFLM refuses are named.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from engines_environment import python_with_engines

ARENA_BYTES = 16 << 20
SEED = 7
REFUSED = 3


def run_here(path):
    """In a process of its own, because TFLM's C++ prints its figures and may abort."""
    import numpy as np
    from tflite_micro.python.tflite_micro import runtime
    try:
        net = runtime.Interpreter.from_file(path, arena_size=ARENA_BYTES)
        random = np.random.default_rng(SEED)
        for i in range(net_inputs(net)):
            given = net.get_input_details(i)
            shape, kind = given["shape"], np.dtype(given["dtype"])
            if kind.kind == "f":
                net.set_input(random.uniform(-1, 1, shape).astype(kind), i)
            else:
                limits = np.iinfo(kind)
                net.set_input(random.integers(limits.min, limits.max, shape, kind, endpoint=True), i)
        net.invoke()
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(REFUSED)
    net.print_allocations()
    for i in range(net_outputs(net)):
        print("output", i, net.get_output(i).tobytes().hex())


def count(get):
    n = 0
    while True:
        try:
            get(n)
        except (IndexError, ValueError, RuntimeError):
            return n
        n += 1


def net_inputs(net):
    return count(net.get_input_details)


def net_outputs(net):
    return count(net.get_output_details)


def tflm(python, path):
    """Activation bytes and outputs, or None if TFLM refuses the network."""
    result = subprocess.run([python, __file__, "--run", path], capture_output=True, text=True)
    if result.returncode == REFUSED:
        return None
    if result.returncode != 0:
        sys.exit(f"{path}: TFLM ended with status {result.returncode}: {result.stderr[-500:]}")
    text = result.stdout + result.stderr
    head = re.search(r"Arena allocation head (\d+) bytes", text)
    outputs = [line for line in text.splitlines() if line.startswith("output ")]
    if not head or not outputs:
        sys.exit(f"{path}: TFLM printed no figures: {text[-500:]}")
    return int(head[1]), outputs


def compare(python, linnet, path, folder):
    """A line of the table, and whether all holds."""
    before = tflm(python, path)
    if before is None:
        return f"{path.stem:<26} TFLM refuses it", True
    planned = pathlib.Path(folder) / path.name
    plan = json.loads(subprocess.check_output([linnet, "plan", path, "-o", planned, "--time-limit", "3", "--json"]))
    after = tflm(python, planned)
    if after is None:
        return f"{path.stem:<26} TFLM refuses the planned file", False
    same = before[1] == after[1]
    held = same and after[0] == plan["tflm_activation_bytes"] and after[0] <= before[0]
    verdict = "" if held else "  WRONG"
    return (f"{path.stem:<26}{before[0]:>10}{after[0]:>10}{plan['tflm_activation_bytes']:>10}  "
            f"{'same outputs' if same else 'OTHER OUTPUTS'}{verdict}"), held


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--run":
        return run_here(sys.argv[2])
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    linnet = sys.argv[1]
    python = python_with_engines(os.environ.get("LINNET_ENGINES", pathlib.Path(linnet).resolve().parent / "engines"))
    paths = [p for folder in sys.argv[2:] for p in sorted(pathlib.Path(folder).rglob("*.tflite"))]
    print(f"{'network':<26}{'before':>10}{'after':>10}{'planned':>10}  bytes of activations in TFLM")
    with tempfile.TemporaryDirectory() as folder:
        lines = [compare(python, linnet, path, folder) for path in paths]
    print("\n".join(line for line, held in lines))
    ran = sum("outputs" in line for line, held in lines)
    if not ran or not all(held for line, held in lines):
        sys.exit(f"{sum(not held for line, held in lines)} of {len(lines)} networks are wrong, {ran} ran")
    print(f"{ran} networks, all as planned")


main()
