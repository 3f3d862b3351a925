"""Writes outputs.csv: what TensorFlow Lite's reference kernels give for kws_ref_model_float32.tflite, a keyword-spotting
network with float activations and int8 weights, for inputs that numbers() makes (hybrid_test.cpp has the same).

    python3 -m venv /tmp/litert && /tmp/litert/bin/pip install -r requirements.txt
    /tmp/litert/bin/python make_outputs.py MODELS/mlperf_tiny/kws_ref_model_float32.tflite

Each line: seed, amplitude, the 12 logits that go into the SOFTMAX, the 12 outputs; floats with 9 digits, so exactly.
"""
import pathlib
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

CASES = [(seed, amplitude) for seed, amplitude in enumerate([0.25, 1, 2, 4, 8, 16, 32, 64, 128, 256, 32, 32, 32, 32, 32, 32], 1)]


def numbers(seed, amplitude, count):
    """Multiples of amplitude / 4096 from -amplitude up to amplitude, by a linear congruential generator."""
    values = []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) % 2**32
        values.append((seed // 2**16 % 8192 - 4096) / 4096 * amplitude)
    return np.array(values, np.float32)


def main():
    net = Interpreter(sys.argv[1], experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
                      experimental_preserve_all_tensors=True)
    net.allocate_tensors()
    given, wanted = net.get_input_details()[0], net.get_output_details()[0]
    softmax = net._get_ops_details()[-1]
    assert softmax["op_name"] == "SOFTMAX" and softmax["outputs"][0] == wanted["index"]
    lines = []
    for seed, amplitude in CASES:
        net.set_tensor(given["index"], numbers(seed, amplitude, int(np.prod(given["shape"]))).reshape(given["shape"]))
        net.invoke()
        values = np.concatenate([net.get_tensor(int(i)).ravel() for i in (softmax["inputs"][0], wanted["index"])])
        lines.append(",".join([str(seed), repr(float(amplitude))] + [f"{v:.9g}" for v in values]) + "\n")
    (pathlib.Path(__file__).parent / "outputs.csv").write_text("".join(lines))


main()
