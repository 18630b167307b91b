#!/usr/bin/env python3
"""Random search over settings: trains a model for each draw of a YAML file of ranges, and prints the best.

  launch/experiments/search.py RANGES.yaml --data=FILE [--trials=N] [--seed=N] [--out=DIR] [--FLAG=VALUE ...]

RANGES.yaml has the keys
  config   the config that trials begin with, beside RANGES.yaml
  ranges   a mapping of paths in the config (training.learning_rate) to what is drawn:
             [a, b, c]         one of these; a value that is a mapping is of paths to values
             {log: [low, high]}    a number, evenly on a log scale
             {uniform: [low, high]}
Other flags go to rowhouse train as they are: give --valid_fraction and --test_freq, and the --test_fraction
that the outcome is to be judged by. A trial is ranked by its best validation; the samples for tests choose
nothing.
DIR (runs/search) gets trial-N.yaml and trial-N.json, the report, of each; trials that are there already are
not run again by the same flags, so a longer search continues a shorter one. `rowhouse compare` makes a page of the best.
Needs python3-yaml, and build/release/bin/rowhouse or rowhouse on the PATH.
"""
import argparse
import copy
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def fail(text):
    sys.exit(f"search: {text}")


def draw(rule, rng):
    if isinstance(rule, list):
        return rng.choice(rule)
    (kind, (low, high)), = rule.items()
    if kind == "log":
        return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.3g}")
    if kind == "uniform":
        return float(f"{rng.uniform(low, high):.3g}")
    fail(f"a range is a list, or has log or uniform, not {kind}")


def put(config, path, value):
    *sections, name = path.split(".")
    for section in sections:
        config = config.setdefault(section, {})
    config[name] = value


def trial_of(number, seed, base, ranges):
    """The draws of a trial, which depend on seed and number alone, and its config."""
    rng = random.Random(f"{seed} {number}")
    drawn = {}
    for path, rule in ranges.items():
        value = draw(rule, rng)
        drawn.update(value if isinstance(value, dict) else {path: value})
    config = copy.deepcopy(base)
    for path, value in drawn.items():
        put(config, path, value)
    return drawn, config


def run(program, config, report, flags):
    """The AUC and logloss of a trial; None, with a line, if it failed."""
    if not report.exists():
        temporary = report.with_suffix(".tmp")
        done = subprocess.run([program, "train", f"--config={config}", f"--report={temporary}", *flags],
                              capture_output=True, text=True)
        if done.returncode == 2:
            fail(f"{config}: {done.stderr.strip()}")
        if done.returncode != 0:
            print(f"{config} failed: {done.stderr.strip()}", file=sys.stderr)
            return None
        temporary.rename(report)
    report = json.loads(report.read_text())
    if not report["best"]:
        fail("the runs do not validate; give --valid_fraction=0.25 --test_freq=1000000, once an epoch")
    best = next(one for one in report["validations"] if one["step"] == report["best"]["step"])
    return best["auc"], best["logloss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("ranges", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/search")
    parser.add_argument("--top", type=int, default=10, help="trials in the table")
    args, flags = parser.parse_known_args()
    built = ROOT / "build/release/bin/rowhouse"
    program = str(built) if built.exists() else shutil.which("rowhouse") or fail("no rowhouse: build it first")
    search = yaml.safe_load(args.ranges.read_text())
    base = yaml.safe_load((args.ranges.parent / search["config"]).read_text())
    args.out.mkdir(parents=True, exist_ok=True)
    results = []
    for number in range(args.trials):
        drawn, config = trial_of(number, args.seed, base, search["ranges"])
        path = args.out / f"trial-{number}.yaml"
        text = f"# rowhouse train {' '.join(flags)}\n" + yaml.safe_dump(config, sort_keys=False)
        report = path.with_suffix(".json")
        if path.exists() and path.read_text() != text:
            report.unlink(missing_ok=True)
        path.write_text(text)
        scores = run(program, path, report, flags)
        if scores:
            results.append((*scores, number, drawn))
            print(f"trial {number}: AUC {scores[0]:.4f} logloss {scores[1]:.4f} {drawn}", flush=True)
    results.sort(key=lambda result: -result[0])
    print("\n   AUC  logloss  trial  drawn")
    for auc, logloss, number, drawn in results[:args.top]:
        print(f"{auc:.4f}   {logloss:.4f}  {number:5}  {', '.join(f'{k}={v}' for k, v in drawn.items())}")
    best = " ".join(str(args.out / f"trial-{number}.json") for _, _, number, _ in results[:args.top])
    print(f"\na page: rowhouse compare {best} --out={args.out}/search.html")


if __name__ == "__main__":
    main()
