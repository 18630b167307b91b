#!/usr/bin/env python3
"""Opens the pages that rowhouse writes in a headless browser, at three widths, light and dark.

pages_test.py PATH_OF_ROWHOUSE; exit code 77: skipped, for want of a browser or of python3-websocket.
Each page must say nothing on the console, fit its width, draw its charts and show values under the
pointer, whatever names, numbers and sizes are in it."""

import json
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    from browser import Browser, find_browser
except ImportError as missing:
    print(f"skipped: {missing}; launch/setup.sh --browser installs python3-websocket")
    sys.exit(SKIPPED)

WIDTHS = (390, 1280, 2560)
ATTACK = "</script><script>window.isAttacked=1</script><img src=x onerror=alert(1)>"
UNICODE = "Gro\u00dfe \u8868 \U0001f600 <&>'\""
LONG = "a_table_with_a_name_that_is_much_longer_than_any_screen_of_a_phone_is_wide_" * 3

# What a page that is drawn looks like from inside; "": nothing is wrong.
CHECK = """(() => {
  const wrong = [];
  const width = %d;
  if (window.innerWidth !== width) wrong.push(`innerWidth is ${window.innerWidth}`);
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth) {
    const wide = [...document.querySelectorAll("main *")].find((element) =>
      element.getBoundingClientRect().right > width + 0.5 && !element.closest(".scroll"));
    wrong.push(`the page scrolls sideways, ${root.scrollWidth} px: ${wide && wide.className}`);
  }
  if (window.isAttacked || document.querySelector("main script, main img")) {
    wrong.push("a name was taken for markup");
  }
  const isBlank = (canvas) => {
    if (canvas.width === 0 || canvas.height === 0) return true;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    return !pixels.some((value) => value !== 0);
  };
  const charts = [...document.querySelectorAll(".curve, .bars")];
  if (charts.length < %d) wrong.push(`only ${charts.length} charts`);
  for (const chart of charts) {
    if ([...chart.querySelectorAll("canvas")].every(isBlank)) {
      wrong.push(`nothing is drawn under "${chart.parentElement.querySelector("h3").textContent}"`);
    }
    const right = chart.parentElement.getBoundingClientRect().right;
    for (const canvas of chart.querySelectorAll("canvas")) {
      if (canvas.getBoundingClientRect().right > right) wrong.push("a chart leaves its panel");
    }
  }
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.scrollHeight > box.clientHeight) wrong.push("a table is cut below");
  }
  for (const canvas of document.querySelectorAll(".bars canvas")) {
    const {options, scales} = Chart.getChart(canvas);
    if (options.indexAxis !== "y") continue;
    const names = scales.y.ticks.map(({label}) => [label].flat().join(""));
    const cut = names.find((name) => name.includes("\u2026") && name.length < 60);
    if (cut) wrong.push(`"${cut}" cannot be read`);
  }
  for (const words of document.querySelectorAll(".words")) {
    if (!words.offsetParent) continue;
    const height = parseFloat(getComputedStyle(words).lineHeight);
    const lines = Math.round(words.getBoundingClientRect().height / height);
    if (lines > 1 && words.textContent.length / lines < 6) {
      wrong.push(`"${words.textContent}" is broken into ${lines} lines`);
      break;
    }
  }
  const text = document.querySelector("main").innerText;
  for (const none of ["NaN", "undefined", "[object", "Infinity"]) {
    if (text.includes(none)) wrong.push(`the page says ${none}`);
  }
  return wrong.join("; ");
})()"""

# The middle of the first element; scrolls it there.
MIDDLE = """(() => {
  const element = document.querySelector("%s");
  element.scrollIntoView({block: "center"});
  const box = element.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
})()"""
LEGEND = "[...document.querySelectorAll('.legend-value')].map((value) => value.textContent).join('')"
TOOLTIP = "Chart.getChart(document.querySelector('.bars canvas')).tooltip.opacity"
# Presses every button that shows more rows; says how many rows the largest table has before and then.
ALL_ROWS = """(() => {
  const rows = () => Math.max(...[...document.querySelectorAll("tbody")].map((body) => body.rows.length));
  const before = rows();
  const buttons = [...document.querySelectorAll("button.more")].map((button) => button.textContent);
  for (const button of document.querySelectorAll("button.more")) button.click();
  return [before, rows(), buttons[0] || ""];
})()"""
# What a page must say; a pattern of its text.
SAID = {
    "awkward": r"(?s)test AUC\n0\.\d+\nat step 10\b",  # one evaluation is a figure
    "strategies": r"\u2215\u2215 cut at three times the shortest: column_wise\n",
    "scores": r"(?s)GAUC.*ROC\n.*?AUC 0\.\d+.*Precision and recall.*Mean score and label.*AUC lost",
    "scaling": r"(?s)machine: typical figures, not calibrated\n+model: 3 tables of 5,320 rows.*"
               r"simulation: .*workers, logarithmic",
}
# The step from 20 to 21 is of a tenth of the usual interval: drawn together with that before.
WHOLE = """Page.wholeIntervals([[10, 1, 5], [20, 1, 5], [21, 9, 1], [31, 1, 5]])
  .map((point) => point.map((value) => value.toFixed(2)).join(" ")).join(", ")"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def train(rowhouse, directory, *flags):
    """Trains, checks what the run counted, and returns the path of the report."""
    report = os.path.join(directory, "report.json")
    command = [rowhouse, "train", "--report=" + report, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    with open(report, encoding="utf-8") as file:
        check_counts(json.load(file), done.stdout)
    return report


def check_counts(report, printed):
    """All rows are in memory: none may be said to come from the disk, nor be counted twice."""
    pulled = re.search(r"rows pulled: ([0-9,]+); first touch ([0-9,]+) .*, (?:disk|store) 0\n",
                       printed)
    if not pulled:
        raise RuntimeError(f"no line of the rows pulled, or some from the disk:\n{printed}")
    total, first_touched = (int(number.replace(",", "")) for number in pulled.groups())
    for part in ("shards", "table_loads"):
        for key, expected in (("rows_pulled", total), ("rows_first_touched", first_touched),
                              ("rows_from_store", 0)):
            if sum(one[key] for one in report[part]) != expected:
                raise RuntimeError(f"{key} of {part} do not add up to {expected}")
    # Each row that exists was touched once for the first time.
    if sum(one["rows"] for one in report["shards"]) != first_touched:
        raise RuntimeError(f"{first_touched} first touches, but other rows exist")
    for node, planned in zip(report["sharding"]["ps_nodes"], report["memory_plan"]["nodes"]):
        if not 0.5 < node["peak_bytes"] / planned["memory"]["total_bytes"] < 2:
            raise RuntimeError(f"{node['peak_bytes']} bytes at the peak, predicted: {planned}")


def compare(rowhouse, out, *arguments):
    command = [rowhouse, "compare", "--out=" + out, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return out


def lab(rowhouse, out, *flags, mode="--strategies=all"):
    """The page of a mode of rowhouse plan, with predictions beside measurements."""
    measured = os.path.splitext(out)[0] + "_measured.json"
    rows = [{"name": ATTACK + str(i), "step_ms": {"predicted": 1.5 ** i, "measured": 1.4 ** i}}
            for i in range(12)]
    with open(measured, "w", encoding="utf-8") as file:
        json.dump({"gmae": {"step_time": 0.1}, "rows": rows}, file)
    command = [rowhouse, "plan", "--ps=3", mode, "--html=" + out,
               "--reports=" + measured, "--calibration=typical", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return out


def scores(rowhouse, out, model, *flags):
    """The page of rowhouse eval."""
    command = [rowhouse, "eval", "--model_dir=" + model, "--html=" + out, *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return out


def changed(report, path, change):
    """A copy of a report with something changed."""
    with open(report, encoding="utf-8") as file:
        data = json.load(file)
    change(data)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file)
    return path


def make_pages(rowhouse, directory):
    """Name, path and how many charts, of each page."""
    def of(name):
        path = os.path.join(directory, name)
        os.makedirs(path)
        return path

    synthetic = ("--data_generation=synthetic", "--arch-mlp-bot=4-8-4", "--arch-mlp-top=8-1",
                 "--arch-sparse-feature-size=4", "--arch-interaction-op=cat",
                 "--mini-batch-size=64", "--shards=2")
    plain = train(rowhouse, of("plain"), *synthetic, "--arch-embedding-size=5000-300-20",
                  "--data_size=12800", "--synthetic_test_samples=1000", "--test-freq=50",
                  "--print-freq=5", "--label=plain run")
    config = os.path.join(directory, "awkward.yaml")
    tables = [{"name": name, "rows": 500 + i}
              for i, name in enumerate([LONG, "-", "t.0", "constructor"])]
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"tables": {"list": tables}}, file)  # JSON is YAML.
    awkward = train(rowhouse, of("awkward"), *synthetic, "--config=" + config, "--data_size=640",
                    "--synthetic_test_samples=100", "--label=" + ATTACK + UNICODE)
    many = train(rowhouse, of("many"), *synthetic, "--store=memory", "--shards=3",
                 "--arch-embedding-size=" + "-".join(["7"] * 1000), "--data_size=128",
                 "--arch-mlp-top=8-1", "--label=" + LONG)
    # No test set, and one point of a curve.
    lone = train(rowhouse, of("lone"), *synthetic, "--arch-embedding-size=50", "--data_size=64",
                 "--synthetic_test_samples=0")
    untrained = changed(plain, os.path.join(directory, "none.json"), lambda report: report.update(
        curve=[], evaluations=[], label="no step"))
    pages = [(name, os.path.splitext(report)[0] + ".html", charts)
             for name, report, charts in (("run", plain, 7), ("awkward", awkward, 7),
                                          ("many", many, 6), ("lone", lone, 5))]
    out = os.path.join(directory, "comparison.html")
    compare(rowhouse, out, plain, awkward, many, lone, untrained)
    pages.append(("comparison", out, 4))

    # Scores of a model whose columns have awkward names.
    model = os.path.join(directory, "model")
    train(rowhouse, of("scored"), *synthetic, "--config=" + config, "--data_size=6400",
          "--synthetic_test_samples=2000", "--model_dir=" + model, "--label=" + ATTACK + UNICODE)
    out = os.path.join(directory, "scores.html")
    pages.append(("scores", scores(rowhouse, out, model, "--importance", "--group_by=t.0"), 4))
    out = os.path.join(directory, "scores_plain.html")
    pages.append(("plain scores", scores(rowhouse, out, model), 3))

    awkward_lab = lab(rowhouse, os.path.join(directory, "lab.html"), *synthetic,
                      "--config=" + config, "--synthetic_bag_length=10")
    many_lab = lab(rowhouse, os.path.join(directory, "lab_many.html"), *synthetic,
                   "--arch-embedding-size=" + "-".join(["7"] * 1000))
    few = (*synthetic, "--arch-embedding-size=5000-300-20")
    scaling = lab(rowhouse, os.path.join(directory, "scaling.html"), *few, "--network_gbits=25",
                  mode="--scaling")
    what_if = lab(rowhouse, os.path.join(directory, "what_if.html"), *few, mode="--what_if")
    pages += [("lab", awkward_lab, 4), ("lab of many tables", many_lab, 3), ("scaling", scaling, 3),
              ("what if", what_if, 1)]

    strategies = []
    for strategy in ("row_wise", "table_wise_lpt", "column_wise"):
        strategies.append(train(rowhouse, of(strategy), *synthetic, "--data_size=640",
                                "--arch-embedding-size=50-40-30", "--strategy=" + strategy,
                                "--arch-sparse-feature-size=4"))
    # Given, since what a loaded machine measures may differ more than threefold.
    for report, step_ms in zip(strategies, (2, 1, 1e4)):
        changed(report, report, lambda read: read["totals"].update(median_step_ms=step_ms))
    refused = os.path.join(directory, "refused.json")
    with open(refused, "w", encoding="utf-8") as file:
        json.dump({"format": 1, "label": ATTACK, "refused": "no: " + LONG + " " + ATTACK}, file)
    out = os.path.join(directory, "strategies.html")
    pages.append(("strategies", compare(rowhouse, out, "--strategies", *strategies, refused), 3))
    return pages


def look(browser, path, width, is_dark, charts):
    """What is wrong with a page."""
    browser.open(path, width, 900, is_dark)
    wrong = []
    seen = browser.value(CHECK % (width, charts))
    if seen:
        wrong.append(seen)
    if browser.value("document.querySelector('.curve') !== null"):
        browser.move_to(*browser.value(MIDDLE % ".curve"))
        if not any(letter.isdigit() for letter in browser.value(LEGEND)):
            wrong.append("no value is shown under the pointer of a curve")
        x, y = browser.value(MIDDLE % ".curve")
        browser.drag(x - 30, y, x + 30)
        if browser.value("document.querySelector('.reset').hidden"):
            wrong.append("a curve does not zoom")
    browser.move_to(*browser.value(MIDDLE % ".bars canvas"))
    if not browser.value(TOOLTIP) > 0:
        wrong.append("no value is shown under the pointer of a bar")
    return wrong + browser.messages


def main(rowhouse):
    if find_browser() is None:
        print("skipped: no Chromium is installed; launch/setup.sh --browser installs one")
        return SKIPPED
    failures = 0
    with tempfile.TemporaryDirectory() as directory, Browser() as browser:
        for name, path, charts in make_pages(rowhouse, directory):
            backgrounds = set()
            for width in WIDTHS:
                for is_dark in (False, True):
                    for fault in look(browser, path, width, is_dark, charts):
                        failures += 1
                        print(f"{name} at {width} px, {'dark' if is_dark else 'light'}: {fault}")
                    backgrounds.add(browser.value(BACKGROUND))
            if not re.search(SAID.get(name, ""), browser.value("document.body.innerText")):
                failures += 1
                print(f"{name}: does not say {SAID[name]}")
            drawn = browser.value(WHOLE)
            if drawn != "10.00 1.00 5.00, 21.00 1.73 3.67, 31.00 1.00 5.00":
                failures += 1
                print(f"{name}: draws {drawn}")
            before, after, button = browser.value(ALL_ROWS)
            if name == "many" and (before, after, button) != (40, 1000, "Show 960 more rows"):
                failures += 1
                print(f"{name}: {before} rows, \"{button}\", {after} rows")
            if len(backgrounds) != 2:
                failures += 1
                print(f"{name}: light and dark have the background {backgrounds}")
            print(f"{name}: looked at {2 * len(WIDTHS)} times")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
