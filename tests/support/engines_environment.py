#!/usr/bin/env python3
"""A Python environment with TensorFlow Lite Micro and LiteRT, from PyPI.

    engines_environment.py FOLDER      makes it there, unless it is there
"""
import pathlib
import subprocess
import sys
import venv

REQUIREMENTS = ["ai-edge-litert==2.3.0", "numpy==2.4.6", "flatbuffers==25.12.19", "pyyaml==6.0.3"]
WITHOUT_WHAT_IT_DECLARES = ["tflite-micro"]  # TensorFlow, which the interpreter itself does not need


def python_with_engines(folder):
    folder = pathlib.Path(folder)
    python = folder / "bin" / "python"
    complete = folder / "complete"
    wanted = "\n".join(REQUIREMENTS + WITHOUT_WHAT_IT_DECLARES)
    if not complete.exists() or complete.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "-q", "install"]
        subprocess.check_call([*pip, *REQUIREMENTS])
        subprocess.check_call([*pip, "--no-deps", *WITHOUT_WHAT_IT_DECLARES])
        complete.write_text(wanted)
    return python


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(python_with_engines(sys.argv[1]))
