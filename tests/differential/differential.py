#!/usr/bin/env python3
"""Compares Linnet with TensorFlow Lite Micro and LiteRT's reference kernels, operator by operator.

    differential.py CASES_PROGRAM [--count N] [--seed S] [--only FAMILY,...]     N cases, shared evenly by the families
    differential.py CASES_PROGRAM --case FAMILY:A,B,C [--keep FOLDER]            one case, as a failure prints it
    options: --verbose (why engines refuse), --environment FOLDER (with both engines; made if it is not there)

Integers must equal TFLM's bit for bit, or LiteRT's where TFLM refuses the case; floats may differ by 1e-5 of the tensor's
largest magnitude. A difference is made smaller and printed as a command. Status 1 if there is one, if Linnet refuses what
another engine computes, or if an operator and type that Linnet has was compared too seldom.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from engines_environment import python_with_engines

ENGINES = ("tflm", "litert")
TOLERANCE = 1e-5  # of the tensor's largest magnitude
LEAST_COMPARED = 20  # of each operator and type, in a run of 5,000 cases
SHRINKING_ROUNDS = 60
SHOWN_FAILURES = 5


class Case:
    def __init__(self, about, data):
        self.about, self.data, self.results = about, data, {}
        self.family, self.choices = about["family"], about["choices"]

    def linnet_outputs(self):
        each = sum(self.about["output_bytes"])
        at = len(self.data) - each * self.about["inferences"]
        return [piece for i in range(self.about["inferences"])
                for piece in engines.pieces(self.data[at + i * each:at + (i + 1) * each], self.about["output_bytes"])]

    def ran(self, engine):
        return "outputs" in self.results[engine]

    def reference(self):
        """The engine that this case is held against, or None."""
        return next((e for e in ENGINES if self.ran(e) and not rules.excludes(self, e)), None)

    def verdict(self):
        """equal, different, refused (by Linnet, not by the others), broken, or alone (no other engine runs it)."""
        if "broken" in self.about:
            return "broken"
        reference = self.reference()
        if reference is None:
            return "alone"
        if "refused" in self.about:
            return "excused" if rules.excuses(self) else "refused"
        return "different" if self.difference(reference) else "equal"

    def difference(self, engine):
        """What differs from the engine's outputs, in words; None if nothing does."""
        mine, others, types = self.linnet_outputs(), self.results[engine]["outputs"], self.about["output_types"]
        return first_difference(mine, others, types, self.about["inferences"])

    def engines_differ(self):
        if not all(self.ran(e) for e in ENGINES):
            return False
        a, b = (self.results[e]["outputs"] for e in ENGINES)
        return first_difference(a, b, self.about["output_types"], self.about["inferences"]) is not None

    def size(self):
        return len(self.choices), sum(self.choices), self.choices


def first_difference(mine, others, types, inferences):
    for i, (a, b) in enumerate(zip(mine, others, strict=True)):
        kind = types[i % len(types)]
        where = f"inference {i // len(types)}, output {i % len(types)}"
        if a == b:
            continue
        if len(a) != len(b):
            return f"{where}: {len(a)} bytes, {len(b)} expected"
        a, b = np.frombuffer(a, DTYPES[kind]), np.frombuffer(b, DTYPES[kind])
        if kind != "float32":
            at = np.flatnonzero(a != b)
            return f"{where}: {at.size} of {a.size} differ, the first at {at[0]}: {a[at[0]]}, {b[at[0]]} expected"
        with np.errstate(all="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            finite = b[np.isfinite(b)]
            allowed = TOLERANCE * float(np.max(np.abs(finite), initial=0))
            wrong = ~same & ~(np.abs(a.astype(np.float64) - b.astype(np.float64)) <= allowed)
        if wrong.any():
            at = np.flatnonzero(wrong)
            return f"{where}: {at.size} of {a.size} differ, the first at {at[0]}: {a[at[0]]!r}, {b[at[0]]!r} expected, {allowed:.3g} allowed"
    return None


def read_results(path):
    for line, data in read_records(path):
        if "refused" in line:
            yield {"refused": line["refused"]}
        else:
            yield {"outputs": list(engines.pieces(data, line["bytes"]))}


def read_records(path):
    """Whole records only: the process may have ended within one."""
    if not os.path.exists(path):
        return
    with open(path, "rb") as file:
        while line := file.readline():
            if not line.endswith(b"\n"):
                return
            about = json.loads(line)
            data = file.read(sum(about["bytes"]))
            if len(data) != sum(about["bytes"]):
                return
            yield about, data


def run_engine(python, engine, cases, count, folder):
    """A result for each case, in one process unless the engine ends it: that is the case's result then."""
    results = []
    while len(results) < count:
        path = folder / f"{engine}.{len(results)}"
        process = subprocess.run([python, HERE / "engines.py", engine, cases, path, str(len(results))],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        made = list(read_results(path))
        results += made
        if len(results) < count:
            if process.returncode > 0:
                sys.exit(f"{engine}: {process.stderr[-2000:]}")
            results.append({"crashed": f"signal {-process.returncode}"})
    return results


class Runner:
    def __init__(self, program, python):
        self.program, self.python = program, python

    def shard(self, requests):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([self.program, folder / "cases"], input="".join(r + "\n" for r in requests), text=True, check=True)
            cases = [Case(about, data) for about, data in engines.read_cases(folder / "cases")]
            for engine in ENGINES:
                for case, result in zip(cases, run_engine(self.python, engine, folder / "cases", len(cases), folder), strict=True):
                    case.results[engine] = result
        return cases

    def run(self, requests):
        shards = min(os.cpu_count() or 1, max(1, len(requests) // 50))
        with concurrent.futures.ThreadPoolExecutor(shards) as pool:
            return [case for part in pool.map(self.shard, [requests[i::shards] for i in range(shards)]) for case in part]

    def shrink(self, case):
        """The simplest case that fails in the same way, by making its numbers smaller while it does."""
        verdict = case.verdict()
        for _ in range(SHRINKING_ROUNDS):
            tries = list(dict.fromkeys(tuple(c) for c in simpler(case.choices)))
            found = [c for c in self.run([request(case.family, t) for t in tries]) if c.verdict() == verdict and c.size() < case.size()]
            if not found:
                break
            case = min(found, key=Case.size)
        return case


def simpler(choices):
    for end in (0, len(choices) // 2, len(choices) * 3 // 4):
        yield choices[:end] + [0] * (len(choices) - end)
    for i, value in enumerate(choices):
        for smaller in (0, value // 2, value - 1):
            if 0 <= smaller < value:
                yield choices[:i] + [smaller] + choices[i + 1:]
                # What follows may have meant something else.
                yield choices[:i] + [smaller] + [0] * (len(choices) - i - 1)


def request(family, choices):
    return f"{family} choices {','.join(map(str, choices))}"


def in_words(node):
    def tensor(t):
        if t is None:
            return "absent"
        text = f"{t['type']}{t['shape']}".replace(" ", "")
        if t["scales"]:
            text += f"*{t['scales'][0]:.9g}" + (f"(and {len(t['scales']) - 1} more)" if len(t["scales"]) > 1 else "")
            text += f"@{t['zero_points'][0]}"
        return text + (" constant" if t["constant"] else "")
    options = ", ".join(f"{k}: {v}" for k, v in node["options"].items())
    return (f"{node['operator']} version {node['version']}, options {{{options}}}: {', '.join(map(tensor, node['inputs']))}"
            f" -> {', '.join(map(tensor, node['outputs']))}")


def report(case, program):
    lines = [f"{case.family}: {case.verdict()}"]
    lines += [f"    {in_words(node)}" for node in case.about["nodes"]]
    for word in ("refused", "broken"):
        if word in case.about:
            lines.append(f"    Linnet: {word}: {case.about[word]}")
    for engine in ENGINES:
        result = case.results[engine]
        if case.ran(engine):
            why = rules.excludes(case, engine)
            text = f"not to be compared: {why}" if why else "computes it" if "refused" in case.about or "broken" in case.about else case.difference(engine) or "equal"
        else:
            text = ", ".join(f"{k}: {v}" for k, v in result.items())
        lines.append(f"    {engine}: {text}")
    lines.append(f"    {sys.executable} {pathlib.Path(__file__).resolve()} {program} --case {case.family}:{','.join(map(str, case.choices))}")
    return "\n".join(lines)


COLUMNS = ("cases", "compared", "equal", "by TFLM", "by LiteRT", "differ", "not Linnet", "not TFLM", "not LiteRT", "excluded", "crashed", "TFLM/LiteRT")


def table(cases):
    """By family: cases, compared with which engine, refused by which engine, and where the two others differ."""
    rows = collections.OrderedDict()
    for case in cases:
        verdict, row = case.verdict(), rows.setdefault(case.family, collections.Counter())
        row["cases"] += 1
        if verdict in ("equal", "different"):
            row["compared"] += 1
            row["by TFLM" if case.reference() == "tflm" else "by LiteRT"] += 1
        row["equal"] += verdict == "equal"
        row["differ"] += verdict in ("different", "broken")
        row["not Linnet"] += "refused" in case.about
        row["not TFLM"] += "refused" in case.results["tflm"]
        row["not LiteRT"] += "refused" in case.results["litert"]
        row["excluded"] += any(case.ran(e) and rules.excludes(case, e) is not None for e in ENGINES)
        row["crashed"] += sum("crashed" in r for r in case.results.values())
        row["TFLM/LiteRT"] += case.engines_differ()
    print(f"{'operator and type':<36}" + "".join(f"{c:>12}" for c in COLUMNS))
    total = collections.Counter()
    for family, row in rows.items():
        print(f"{family:<36}" + "".join(f"{row[c] or '-':>12}" for c in COLUMNS))
        total.update(row)
    print(f"{'all':<36}" + "".join(f"{total[c] or '-':>12}" for c in COLUMNS), flush=True)


def print_refusals(cases):
    reasons = collections.Counter()
    for case in cases:
        for who, result in [("linnet", case.about), *case.results.items()]:
            for word in ("refused", "crashed"):
                if word in result:
                    reasons[who, case.family, word, result[word][-150:]] += 1
    for (who, family, word, reason), count in sorted(reasons.items()):
        print(f"{count:>5} {who:<7}{family:<32}{word}: {' '.join(reason.split())}")


def too_few(cases, claims, families, count):
    """Operators and types that were compared too seldom."""
    least = LEAST_COMPARED * min(1, count / 5000)
    entries, by_family = collections.Counter(), collections.Counter()
    for case in cases:
        if case.verdict() in ("equal", "different"):
            entries.update(case.about["entries"])
            by_family[case.family] += 1
    return ([f"{claim}: compared {entries[i]} times" for i, claim in enumerate(claims) if entries[i] < least] +
            [f"{family}: compared {by_family[family]} times" for family in families if by_family[family] < least])


def show_failures(failures, runner, program):
    kinds = collections.OrderedDict()
    for case in failures:
        kinds.setdefault((case.family, case.verdict()), case)
    for case in list(kinds.values())[:SHOWN_FAILURES]:
        print("\n" + report(runner.shrink(case), program), flush=True)
    if len(kinds) > SHOWN_FAILURES:
        print(f"\nand {len(kinds) - SHOWN_FAILURES} kinds more: " + ", ".join(f"{f} {v}" for f, v in list(kinds)[SHOWN_FAILURES:]))


def one_case(runner, program, case, keep):
    family, choices = case.split(":")
    case, = runner.run([f"{family} choices {choices}"])
    print(report(case, program))
    if keep:
        pathlib.Path(keep).mkdir(parents=True, exist_ok=True)
        (pathlib.Path(keep) / "model.tflite").write_bytes(case.data[:case.about["file_bytes"]])
        for i, inputs in enumerate(engines.inputs_of(case.about, case.data)):
            for j, data in enumerate(inputs):
                (pathlib.Path(keep) / f"inference{i}.input{j}").write_bytes(data)
    return case.verdict() not in ("different", "broken", "refused")


def many_cases(runner, program, options):
    known = json.loads(subprocess.check_output([program, "--list"]))
    families = options.only.split(",") if options.only else known["families"]
    each, more = divmod(options.count, len(families))
    requests = [f"{family} seed {options.seed + i}" for j, family in enumerate(families) for i in range(each + (j < more))]
    cases = runner.run(requests)
    cases.sort(key=lambda c: families.index(c.family))
    table(cases)
    if options.verbose:
        print_refusals(cases)
    failures = [c for c in cases if c.verdict() in ("different", "broken", "refused")]
    show_failures(failures, runner, program)
    few = [] if options.only else too_few(cases, known["claims"], families, options.count)
    print("".join(f"\ntoo few: {line}" for line in few))
    print(f"{len(cases)} cases, {sum(c.verdict() == 'equal' for c in cases)} equal, {len(failures)} wrong")
    return not failures and not few


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("--case")
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--environment", type=pathlib.Path)
    options = parser.parse_args()
    program = options.program.resolve()
    python = python_with_engines(options.environment or os.environ.get("LINNET_ENGINES", program.parents[1] / "engines"))
    if pathlib.Path(sys.prefix).resolve() != pathlib.Path(python).parent.parent.resolve():
        os.execv(python, [python, *sys.argv])
    global engines, rules, np, DTYPES
    import numpy as np
    import engines
    import rules
    DTYPES = {"float32": np.float32, "int8": np.int8, "uint8": np.uint8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32,
              "uint32": np.uint32, "int64": np.int64, "bool": np.bool_}
    runner = Runner(program, python)
    held = one_case(runner, program, options.case, options.keep) if options.case else many_cases(runner, program, options)
    sys.exit(0 if held else 1)


main()
