"use strict";
// Runs laid over one another: rowhouse compare.
function drawComparison({runs, differences, test_sets: testSets}) {
  const {el, isNumber, count, fixed, bytes, short, table} = Page;
  const best = runs.filter((run) => isNumber(run.test_auc))
    .sort((a, b) => b.test_auc - a.test_auc)[0];
  const main = Page.begin("Comparison",
    runs.length === 1 ? "One training run" : `${count(runs.length)} training runs compared`,
    best ? `Best test AUC: ${fixed(best.test_auc, 4)}, of ${best.run}` : "No run was tested");
  if (testSets) {
    main.append(el("div", "notice", testSets[0].toUpperCase() + testSets.slice(1) + "."));
  }
  const dash = (value, decimals) => fixed(value, decimals);
  main.append(table(
    [{name: "run"}, {name: "test AUC", number: true}, {name: "ceiling", number: true},
     {name: "test logloss", number: true}, {name: "final training loss", number: true},
     {name: "samples/s", number: true}, {name: "bytes of rows", number: true},
     {name: "of plain tables", number: true}, {name: "report"}],
    runs.map((run) => {
      return [run.run + (run.was_stopped ? " (stopped)" : ""), dash(run.test_auc, 4),
              dash(run.test_auc_ceiling, 4), dash(run.test_logloss, 4), dash(Page.meanAtEnd(run.curve)[0], 4),
              count(run.samples_per_second), bytes(run.rows_bytes), dash(run.of_plain, 4), run.report];
    })));
  main.append(el("p", "muted",
    "Test figures are those of the last evaluation; the final training loss is the mean of the last " +
    "tenth of the curve. Bytes of rows: of all embedding rows, and by " +
    "the bytes that the tables would take uncompressed. Ceiling: the test AUC of the model that " +
    "planted the data."));

  const curves = Page.section(main, "On the way there", "Drag or pinch over a curve to zoom in; double " +
                                                        "click to see all of it again.");
  const steps = runs.flatMap((run) => [...run.curve, ...run.evaluations].map((point) => point[0]));
  const range = steps.length ? [steps.reduce((a, b) => Math.min(a, b)),
                                steps.reduce((a, b) => Math.max(a, b))] : null;
  const of = (list, place) => runs.map((run) => ({
    name: run.run, isDots: list === "evaluations",
    points: (list === "curve" ? Page.wholeIntervals(run.curve) : run[list]).map(
      (point) => [point[0], point[place]]),
  }));
  const four = (value) => fixed(value, 4);
  Charts.curve(Page.panel(curves, "Training loss", "mean since the point before"),
               of("curve", 1), {range, format: four});
  if (runs.some((run) => run.evaluations.length)) {
    Charts.curve(Page.panel(curves, "Test AUC", "area under the ROC curve"), of("evaluations", 1), {range, format: four});
    Charts.curve(Page.panel(curves, "Test logloss", "binary cross entropy, mean over samples"),
                 of("evaluations", 2), {range, format: four});
  }
  Charts.curve(Page.panel(curves, "Samples/s", "over all workers"), of("curve", 2), {range, format: count});

  const sized = runs.filter((run) => isNumber(run.rows_bytes) && run.rows_bytes > 0 &&
                                     isNumber(run.test_auc));
  if (sized.length) {
    const grid = Page.section(main, "Bytes of rows and test AUC");
    const levels = new Map();
    for (const run of runs) {
      if (!isNumber(run.test_auc_ceiling)) continue;
      const names = levels.get(run.test_auc_ceiling) || [];
      levels.set(run.test_auc_ceiling, [...names, run.run]);
    }
    Charts.points(
      Page.panel(grid, "Left is smaller, up is better", "", true),
      sized.map((run) => ({name: run.run, x: run.rows_bytes, y: run.test_auc})),
      [...levels].map(([y, names]) => (
        {name: levels.size === 1 ? "ceiling" : "ceiling of " + names.join(", "), y})),
      {xName: "bytes of rows", yName: "test AUC", xFormat: bytes,
       yFormat: (value, isAxis) => (isAxis ? short(value) : four(value))});
  }

  if (runs.length < 2) return;
  main.append(el("h2", "", "Settings that differ"));
  if (!differences.length) {
    main.append(el("p", "muted", "None: all settings are the same."));
    return;
  }
  main.append(table(
    [{name: "setting"}, ...runs.map((run) => ({name: run.run, code: false}))],
    differences.map((one) => [one.name, ...one.values.map((value) => value || "\"\"")])));
}
