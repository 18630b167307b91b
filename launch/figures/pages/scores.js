"use strict";
// The figures of rowhouse eval --html: curves, calibration, what columns are worth.
function drawScores({model, label, data, scores}) {
  const {el, isNumber, count, fixed, table} = Page;
  const four = (value) => fixed(value, 4);
  const main = Page.begin("Evaluation", label || model, [
    `${model}, after ${count(scores.steps)} steps`, data,
    `${count(scores.samples)} samples`].join(" \u00b7 "));
  const groups = scores.by_group;
  main.append(Page.cards([
    ["AUC", four(scores.auc), scores.auc_error > 0 ? `within ${fixed(scores.auc_error, 6)}` : ""],
    ["GAUC", groups ? four(groups.auc) : null, groups ? `by ${groups.by}` : ""],
    ["Logloss", four(scores.logloss), ""],
    ["Normalised entropy", four(scores.normalised_entropy), "logloss over that of the mean label"],
    ["Calibration", four(scores.calibration), "mean score over mean label"],
    ["Average precision", four(scores.average_precision), ""],
    ["Accuracy", four(scores.accuracy), "of scores rounded at 0.5"],
    ["Mean label", four(scores.mean_label), `mean score ${four(scores.mean_score)}`],
  ]));
  if (groups) {
    main.append(el("p", "muted", `GAUC: of ${count(groups.groups)} ids of ${groups.by} with both labels, ` +
      `${count(groups.samples)} samples; ${count(groups.groups_left_out)} ids left out.`));
  }
  if (scores.bad_lines > 0) {
    main.append(el("div", "notice", `${count(scores.bad_lines)} lines could not be read and were left out.`));
  }

  // ---- Curves -----------------------------------------------------------------------------------

  const points = scores.curve || [];
  const curves = Page.section(main, "Curves", points.length ? "" :
                              "There are none without samples of both labels, 0 and 1.", true);
  const range = [0, 1];
  if (points.length) {
    Charts.curve(Page.panel(curves, "ROC", `AUC ${four(scores.auc)}`), [
      {name: "true positive rate",
       points: [[0, 0], ...points.map((one) => [one.false_positive_rate, one.true_positive_rate])]},
      {name: "chance", points: [[0, 0], [1, 1]], colour: 7},
    ], {range, format: four, share: "false positive rate"});
    Charts.curve(Page.panel(curves, "Precision and recall",
                            `average precision ${four(scores.average_precision)}`), [
      {name: "precision", points: points.map((one) => [one.true_positive_rate, one.precision])},
      {name: "chance", points: [], level: scores.mean_label, colour: 7},
    ], {range, format: four, share: "recall"});
  }

  // ---- Calibration ------------------------------------------------------------------------------

  const parts = (scores.by_score || []).filter((one) => one.samples > 0);
  const calibration = Page.section(main, "Calibration by score",
    "Samples by rising score, in parts of about one size: where the mean label is above the mean score, " +
    "the model predicts too little.");
  const names = parts.map((_, i) => `${i + 1}`);
  Charts.bars(Page.panel(calibration, "Mean score and label", "of each part"), names, [
    {name: "mean score", values: parts.map((one) => one.mean_score)},
    {name: "mean label", values: parts.map((one) => one.mean_label), colour: 1},
  ], {format: (value, isAxis) => (isAxis ? Page.short(value) : four(value))});
  Page.panel(calibration, "Parts").append(
    table([{name: "part"}, {name: "samples", number: true}, {name: "mean score", number: true},
           {name: "mean label", number: true}, {name: "score over label", number: true}],
          parts.map((one, i) => [names[i], count(one.samples), four(one.mean_score),
                                 four(one.mean_label),
                                 one.mean_label > 0 ? fixed(one.mean_score / one.mean_label, 3)
                                                    : fixed(null, 3)])));

  // ---- Importance -------------------------------------------------------------------------------

  const importance = scores.importance;
  if (!importance) return;
  const kMax = 30;
  const columns = [...importance.columns].sort(
    (a, b) => (isNumber(b.auc_lost) ? b.auc_lost : 0) - (isNumber(a.auc_lost) ? a.auc_lost : 0));
  const section = Page.section(main, "Importance of columns",
    `AUC lost when a column's values are shuffled among ${count(importance.samples)} samples, of ` +
    `${four(importance.auc)}: what this model makes of the column.`);
  const shown = columns.slice(0, kMax);
  Charts.bars(Page.panel(section, "AUC lost", columns.length > kMax
                           ? `the first ${kMax} of ${count(columns.length)} columns` : ""),
              shown.map((one) => one.name),
              [{name: "AUC lost", values: shown.map((one) => one.auc_lost)}],
              {format: (value, isAxis) => (isAxis ? Page.short(value) : fixed(value, 6))});
  Page.panel(section, "Columns").append(
    table([{name: "column"}, {name: "is"}, {name: "AUC lost", number: true}],
          columns.map((one) => [one.name, one.kind === "dense" ? "number" : "tokens",
                                fixed(one.auc_lost, 6)])));
}
