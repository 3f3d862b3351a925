"""Runs the cases of a file that differential_cases wrote in one engine, in a process that differential.py starts anew
when the engine ends it.

    engines.py tflm|litert CASES RESULTS FIRST

Appends to RESULTS, for each case from FIRST on, a line of JSON followed by the outputs' bytes, at once: a case without a
result is the one that ended the process.
"""
import json
import os
import sys
import tempfile

import numpy as np

ARENA_BYTES = 1 << 20


def read_cases(path):
    """Each case as (what the line says, the bytes after it)."""
    with open(path, "rb") as file:
        while line := file.readline():
            about = json.loads(line)
            yield about, file.read(about["bytes"])


def pieces(data, sizes):
    at = 0
    for size in sizes:
        yield data[at:at + size]
        at += size


def inputs_of(about, data):
    """The inputs of each inference, as lists of bytes."""
    each, at = sum(about["input_bytes"]), about["file_bytes"]
    for i in range(about["inferences"]):
        yield list(pieces(data[at + i * each:at + (i + 1) * each], about["input_bytes"]))


class Tflm:
    def __init__(self):
        from tflite_micro.python.tflite_micro import _runtime, runtime
        self.wrapper = _runtime.InterpreterWrapper
        self.config = _runtime.PythonInterpreterConfig.kAllocationRecording
        self.count_resources = runtime.count_resource_variables

    def run(self, about, model, all_inputs):
        resources = self.count_resources(model) if any(node["operator"] == "VAR_HANDLE" for node in about["nodes"]) else 0
        net = self.wrapper(model, [], ARENA_BYTES, resources, self.config, 0)
        for inputs in all_inputs:
            for i, data in enumerate(inputs):
                given = net.GetInputTensorDetails(i)
                net.SetInputTensor(np.frombuffer(data, given["dtype"]).reshape(given["shape"]), i)
            if net.Invoke():
                raise RuntimeError("Invoke failed")
            for i in range(len(about["output_types"])):
                yield np.ascontiguousarray(net.GetOutputTensor(i)).tobytes()


class LiteRt:
    def __init__(self):
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
        self.interpreter, self.resolver = Interpreter, OpResolverType.BUILTIN_REF

    def run(self, about, model, all_inputs):
        net = self.interpreter(model_content=model, experimental_op_resolver_type=self.resolver, num_threads=1)
        net.allocate_tensors()
        for inputs in all_inputs:
            for given, data in zip(net.get_input_details(), inputs, strict=True):
                net.set_tensor(given["index"], np.frombuffer(data, given["dtype"]).reshape(given["shape"]))
            net.invoke()
            for made in net.get_output_details():
                yield np.ascontiguousarray(net.get_tensor(made["index"])).tobytes()


def run_case(engine, about, data, messages):
    """The result's line and bytes."""
    messages.seek(0)
    messages.truncate()
    try:
        outputs = list(engine.run(about, data[:about["file_bytes"]], inputs_of(about, data)))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        messages.seek(0)
        said = messages.read().decode(errors="replace").strip()
        return {"refused": (said or str(error))[-300:], "bytes": []}, b""
    return {"bytes": [len(o) for o in outputs]}, b"".join(outputs)


def main():
    kind, cases, results, first = sys.argv[1:]
    engine = {"tflm": Tflm, "litert": LiteRt}[kind]()
    messages = tempfile.TemporaryFile()
    os.dup2(messages.fileno(), 2)  # the engines' own C++ speaks there
    with open(results, "ab") as out:
        for i, (about, data) in enumerate(read_cases(cases)):
            if i < int(first):
                continue
            line, outputs = run_case(engine, about, data, messages)
            out.write(json.dumps(line).encode() + b"\n" + outputs)
            out.flush()


if __name__ == "__main__":
    main()
