#!/usr/bin/env python3
"""A wide part on clicks whose effects just add up: a logistic regression, and models without and with one.

  launch/experiments/wide.py [--lines=20000,50000] [--seeds=123,124,125] [--out=DIR] [--FLAG=VALUE ...]

Makes clicks by a logistic model over the ids of six columns and two numbers; the logit is a sum, so no model
can be better than the best logistic regression. Prints the AUC on the last fifth of the lines: of the truth (the
probabilities that the clicks were drawn by), of `rowhouse data baseline`, and of the config that `rowhouse data
infer` writes, without and with `wide: true`, as means over the seeds of the model.
Other flags go to rowhouse train as they are. DIR is runs/wide. Needs build/release/bin/rowhouse or rowhouse on
the PATH. About a minute on 2 cores.
"""
import argparse
import bisect
import itertools
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = {"user": 4000, "item": 1500, "shop": 300, "city": 60, "device": 12, "hour": 24}


def rowhouse_binary():
    built = ROOT / "build/release/bin/rowhouse"
    found = str(built) if built.exists() else shutil.which("rowhouse")
    return found or sys.exit("wide: no rowhouse in build/release/bin or on the PATH")


def write_clicks(path, lines, seed):
    """Writes a CSV; returns each line's probability and click."""
    rng = random.Random(seed)
    effects = {name: [rng.gauss(0, 0.6) for _ in range(rows)] for name, rows in COLUMNS.items()}
    # Zipf's law with exponent 1.
    sums = {name: list(itertools.accumulate(1 / (i + 1) for i in range(rows))) for name, rows in COLUMNS.items()}
    drawn = []
    with open(path, "w") as out:
        out.write(",".join([*COLUMNS, "age", "price", "click"]) + "\n")
        for _ in range(lines):
            ids = {name: bisect.bisect(sums[name], rng.random() * sums[name][-1]) for name in COLUMNS}
            age, price = rng.randint(18, 80), rng.lognormvariate(1, 1)
            logit = sum(effects[name][i] for name, i in ids.items()) - 1 - 0.01 * (age - 40) - 0.05 * price
            p = 1 / (1 + math.exp(-logit))
            click = int(rng.random() < p)
            drawn.append((p, click))
            out.write(",".join([*(f"{name}{i}" for name, i in ids.items()), str(age), f"{price:.2f}", str(click)]) + "\n")
    return drawn


def auc(drawn):
    order = sorted(drawn)
    ranks = sum(i + 1 for i, (_, click) in enumerate(order) if click)
    ones = sum(click for _, click in order)
    return (ranks - ones * (ones + 1) / 2) / (ones * (len(order) - ones))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", default="20000,50000")
    parser.add_argument("--seeds", default="123,124,125")
    parser.add_argument("--out", default=str(ROOT / "runs/wide"), type=pathlib.Path)
    given, flags = parser.parse_known_args()
    binary = rowhouse_binary()
    given.out.mkdir(parents=True, exist_ok=True)

    def run(*arguments):
        result = subprocess.run([binary, *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"wide: rowhouse {' '.join(arguments)} failed:\n{result.stderr}")
        return result.stdout

    print(f"{'lines':>8} {'truth':>8} {'baseline':>9} {'deep':>8} {'wide':>8} {'wide - baseline':>16}")
    for lines in map(int, given.lines.split(",")):
        data, config = given.out / f"clicks-{lines}.csv", given.out / f"clicks-{lines}.yaml"
        drawn = write_clicks(data, lines, seed=1)
        run("data", "infer", str(data), f"--out={config}")
        split = [f"--config={config}", "--test_fraction=0.2"]
        baseline = json.loads(run("data", "baseline", str(data), *split, "--json"))["auc"]
        means = []
        for wide in ("false", "true"):
            values = []
            for seed in given.seeds.split(","):
                report = given.out / "report.json"
                run("train", *split, f"--data={data}", f"--wide={wide}", f"--numpy_rand_seed={seed}",
                    f"--report={report}", *flags)
                values.append(json.loads(report.read_text())["evaluations"][-1]["auc"])
            means.append(sum(values) / len(values))
        truth = auc(drawn[len(drawn) - len(drawn) // 5:])
        print(f"{lines:8} {truth:8.4f} {baseline:9.4f} {means[0]:8.4f} {means[1]:8.4f} {means[1] - baseline:+16.4f}", flush=True)


if __name__ == "__main__":
    main()
