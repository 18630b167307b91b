#!/usr/bin/env python3
"""What an untouched config of `rowhouse data infer` is worth, beside `rowhouse data baseline`.

  launch/experiments/infer_defaults.py [--lines=100000] [--seeds=123,124,125] [--valid] [--out=DIR] [FILE ...] [--FLAG=VALUE ...]

Makes four tables of clicks whose probabilities are known, infers a config for each and for each FILE (Criteo's, say), and
trains it on the first three quarters of the lines. Prints the AUC on the last quarter: the best possible one (of the
probabilities that the clicks were drawn by), that of the logistic regression, and the mean over the seeds of the model,
as inferred and without its wide part. --valid ends with the first three quarters: what is chosen by it has not seen
the last quarter. Other flags go to rowhouse train as they are. DIR is runs/infer_defaults. Needs
build/release/bin/rowhouse or rowhouse on the PATH. About four minutes on 2 cores.

  additive   24 columns of 10 to 20,000 ids, whose effects just add up
  crosses    6 columns of 8 to 40 ids, of which pairs have effects, too
  once       8 columns, half of whose ids occur once
  lognormal  4 skewed numbers, whose effects go up and down, and 4 columns of ids
"""
import argparse
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def rowhouse_binary():
    built = ROOT / "build/release/bin/rowhouse"
    found = str(built) if built.exists() else shutil.which("rowhouse")
    return found or sys.exit("infer_defaults: no rowhouse in build/release/bin or on the PATH")


def skewed(rng, rows):
    """Small ids are frequent."""
    return min(int(rows * rng.random() ** 2), rows - 1)


def effects_of(rng, rows, scale):
    return [[rng.gauss(0, scale) for _ in range(n)] for n in rows]


def additive(rng):
    rows = [10, 20, 50, 100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000, 3000, 4000, 5000, 7000, 10000, 15000, 20000,
            6000, 8000, 12000, 16000]
    effects = effects_of(rng, rows, 0.36)
    while True:
        ids = [skewed(rng, n) for n in rows]
        yield [f"v{i}" for i in ids], sum(e[i] for e, i in zip(effects, ids)) - 1


def crosses(rng):
    rows = [8, 12, 16, 20, 30, 40]
    alone, pairs = effects_of(rng, rows, 0.3), [(0, 5), (1, 4), (2, 3)]
    both = effects_of(rng, [rows[a] * rows[b] for a, b in pairs], 0.8)
    while True:
        ids = [rng.randrange(n) for n in rows]
        logit = sum(e[i] for e, i in zip(alone, ids)) - 0.5
        yield [f"v{i}" for i in ids], logit + sum(e[ids[a] * rows[b] + ids[b]] for e, (a, b) in zip(both, pairs))


def once(rng):
    """Ids that come back have effects; new ones come so often that half of all different ids occur once."""
    rows, known = [50, 200, 500, 1000, 2000, 2000, 2000, 2000], []
    effects = effects_of(rng, rows, 0.6)
    new = [0] * len(rows)
    share = [min(n / 100000, 0.02) for n in rows]
    while True:
        tokens, logit = [], -0.5
        for k, n in enumerate(rows):
            if rng.random() < share[k]:
                new[k] += 1
                tokens.append(f"n{new[k]}")
                continue
            i = skewed(rng, n)
            tokens.append(f"v{i}")
            logit += effects[k][i]
        yield tokens, logit


def lognormal(rng):
    rows = [20, 100, 500, 2000]
    effects = effects_of(rng, rows, 0.4)
    while True:
        ids = [skewed(rng, n) for n in rows]
        z = [rng.gauss(0, 1) for _ in range(4)]
        logit = sum(e[i] for e, i in zip(effects, ids)) + math.sin(2 * z[0]) + 0.7 * (z[1] > 0.5) - 0.5 * z[2] - 0.8
        yield [f"v{i}" for i in ids] + [f"{math.exp(2 * x):.6g}" for x in z], logit


TABLES = {"additive": additive, "crosses": crosses, "once": once, "lognormal": lognormal}


def write_clicks(path, samples, lines, rng):
    """Writes a CSV; returns each line's probability and click."""
    drawn = []
    with open(path, "w") as out:
        for _ in range(lines):
            fields, logit = next(samples)
            if not drawn:
                out.write(",".join([*(f"c{k}" for k in range(len(fields))), "click"]) + "\n")
            p = 1 / (1 + math.exp(-logit))
            drawn.append((p, int(rng.random() < p)))
            out.write(",".join([*fields, str(drawn[-1][1])]) + "\n")
    return drawn


def auc(drawn):
    order = sorted(drawn)
    ranks = sum(i + 1 for i, (_, click) in enumerate(order) if click)
    ones = sum(click for _, click in order)
    return (ranks - ones * (ones + 1) / 2) / (ones * (len(order) - ones))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", default=100000, type=int)
    parser.add_argument("--seeds", default="123,124,125")
    parser.add_argument("--valid", action="store_true")
    parser.add_argument("--out", default=str(ROOT / "runs/infer_defaults"), type=pathlib.Path)
    given, rest = parser.parse_known_args()
    flags = [word for word in rest if word.startswith("--")]
    binary = rowhouse_binary()
    given.out.mkdir(parents=True, exist_ok=True)

    def run(*arguments):
        result = subprocess.run([binary, *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"infer_defaults: rowhouse {' '.join(arguments)} failed:\n{result.stderr}")
        return result.stdout

    def trained(split, data, *more):
        values, report = [], given.out / "report.json"
        for seed in given.seeds.split(","):
            run("train", *split, f"--data={data}", f"--numpy_rand_seed={seed}", f"--report={report}", *more, *flags)
            values.append(json.loads(report.read_text())["evaluations"][-1]["auc"])
        return sum(values) / len(values)

    sets = []
    for name, make in TABLES.items():
        rng, data = random.Random(1), given.out / f"{name}.csv"
        drawn = write_clicks(data, make(rng), given.lines, rng)
        sets.append((data, drawn))
    sets += [(pathlib.Path(word).resolve(), None) for word in rest if not word.startswith("--")]

    print(f"{'':26} {'lines':>7} {'possible':>9} {'baseline':>9} {'inferred':>9} {'without wide':>13} {'inferred - baseline':>20}")
    for data, drawn in sets:
        if given.valid:
            with open(data, "rb") as file:
                lines = file.readlines()
            data = given.out / f"train-{data.name}"
            data.write_bytes(b"".join(lines[:len(lines) * 3 // 4]))
            drawn = drawn and drawn[:len(drawn) * 3 // 4]
        config = given.out / f"{data.stem}.yaml"
        run("data", "infer", str(data), f"--out={config}")
        split = [f"--config={config}", "--test_fraction=0.25"]
        baseline = json.loads(run("data", "baseline", str(data), *split, "--json"))["auc"]
        ours, deep = trained(split, data), trained(split, data, "--wide=false")
        count = len(drawn) if drawn else sum(1 for _ in open(data, "rb"))
        possible = f"{auc(drawn[-(count // 4):]):9.4f}" if drawn else f"{'':>9}"
        print(f"{data.stem:26} {count:7} {possible} {baseline:9.4f} {ours:9.4f} {deep:13.4f} {ours - baseline:+20.4f}", flush=True)


if __name__ == "__main__":
    main()
