"use strict";
// The report of one run: report.html.
function drawRun({report, step_phases: stepPhases, has_files: hasFiles, is_logloss: isLogloss}) {
  const {el, isNumber, count, fixed, bytes, duration, percent, short, table} = Page;
  const {environment, totals, phases, curve, evaluations, validations, progressive, shards} = report;
  const nodes = report.sharding.ps_nodes;
  // Tests of earlier runs of the model are of other rows, maybe of other samples.
  const tested = evaluations.filter((one) => one.step > (totals.first_step || 0));
  const last = tested[tested.length - 1];
  const several = (n, name) => `${count(n)} ${name}${n === 1 ? "" : "s"}`;
  // What a read from the store means to people.
  const store = hasFiles ? "disk" : "store";

  // ---- What came of it --------------------------------------------------------------------------

  const title = report.label || "Training run";
  const main = Page.begin("Training run", title, [
    `started ${environment.started_at.replace("T", " ").replace("Z", " UTC")}`,
    `on ${environment.hosts.join(", ")}`,
    several(environment.workers, "worker"), several(environment.ps_nodes, "PS node"),
    several(environment.shards, "shard"),
  ].join(" \u00b7 "));
  if (totals.was_stopped) {
    main.append(el("div", "notice", `The run was stopped after step ${count(totals.steps)}, before ` +
                                    "its last epoch ended."));
  }
  const runs = report.runs;
  if (totals.first_step > 0) {
    main.append(el("div", "notice",
                   `The run went on from step ${count(totals.first_step)} of a model. The curves are of ` +
                   "all runs of the model, the other figures of this run."));
  }
  const [finalLoss, finalSteps] = Page.meanAtEnd(curve.map((point) => [point.step, point.loss]));
  const peak = Math.max(...nodes.map((node) => node.peak_bytes || 0));
  const allSeconds = Object.values(phases).reduce((sum, one) => sum + (one || 0), 0);
  const ceiling = totals.test_auc_ceiling;
  const best = report.best || {};
  const baseline = report.baseline || {};
  main.append(Page.cards([
    ["Test AUC", last ? fixed(last.auc, 4) : "no test set",
     isNumber(ceiling) ? `best possible ${fixed(ceiling, 4)}`
     : isNumber(baseline.auc) ? `logistic regression ${fixed(baseline.auc, 4)}` : ""],
    ["Test logloss", last ? fixed(last.logloss, 4) : null,
      isNumber(baseline.logloss) ? `logistic regression ${fixed(baseline.logloss, 4)}`
      : last ? several(last.samples, "sample") : ""],
    ["Test AUC of the best", isNumber(best.test_auc) ? fixed(best.test_auc, 4) : null,
     `by validation: step ${count(best.step)}`],
    ["Training loss", fixed(finalLoss, 4), finalSteps ? `of the last ${several(finalSteps, "step")}` : ""],
    ["Samples/s", count(totals.samples_per_second),
     isNumber(totals.median_step_ms) ? `${fixed(totals.median_step_ms, 2)} ms a step` : ""],
    ["Samples trained", short(totals.samples), `to step ${count(totals.steps)}`],
    ["Time", duration(allSeconds), "from start to report"],
    ["Rows", report.rows.digest ? short(report.rows.count) : "not counted", "that exist after the run"],
    ["Peak memory", peak > 0 ? bytes(peak) : null, "of the fullest PS node"],
  ]));

  // ---- Curves -----------------------------------------------------------------------------------

  const curves = Page.section(main, "Training", "Drag or pinch over a curve to zoom in; double click to " +
                                                "see all of it again.", true);
  const steps = [...curve, ...evaluations, ...validations, ...progressive].map((point) => point.step);
  const range = steps.length ? [Math.min(...steps), Math.max(...steps)] : null;
  const of = (points, name) => points.map((point) => [point.step, point[name]]);
  const whole = Page.wholeIntervals(
    curve.map((point) => [point.step, point.loss, point.samples_per_second]));
  const four = (value) => fixed(value, 4);
  const lossName = report.settings.model.loss_function;
  const smoothing = Number(report.settings.model.label_smoothing);
  const losses = [{name: smoothing ? `training loss, of labels smoothed by ${smoothing}` : "training loss",
                   points: whole}];
  const testLoss = {name: "test logloss", points: of(evaluations, "logloss"), isDots: true, colour: 1};
  if (evaluations.length && isLogloss) losses.push(testLoss);
  const before = {isDots: true, colour: 5};
  if (progressive.length && isLogloss) {
    losses.push({name: "progressive logloss", points: of(progressive, "logloss"), ...before});
  }
  Charts.curve(Page.panel(curves, "Loss", isLogloss ? "binary cross entropy, mean over samples"
                                                    : `${lossName}, mean over samples`),
               losses, {range, format: four});
  if (evaluations.length && !isLogloss) {
    Charts.curve(Page.panel(curves, "Test logloss", "binary cross entropy, mean over samples"),
                 [testLoss], {range, format: four});
  }
  const aucPanel = Page.panel(curves, "Test AUC",
                              last ? `on ${several(last.samples, "test sample")}` : "");
  if (evaluations.length || validations.length || progressive.length) {
    const aucs = [{name: "test AUC", points: of(evaluations, "auc"), isDots: true, colour: 1}];
    if (validations.length) {
      aucs.push({name: "validation AUC", points: of(validations, "auc"), isDots: true, colour: 3});
    }
    if (progressive.length) {
      aucs.push({name: "progressive AUC", points: of(progressive, "auc"), ...before});
    }
    if (isNumber(ceiling)) {
      aucs.push({name: "best possible", points: [], level: ceiling, colour: 7});
    }
    if (isNumber(baseline.auc)) {
      aucs.push({name: "logistic regression", points: [], level: baseline.auc, colour: 7});
    }
    Charts.curve(aucPanel, aucs, {range, format: four});
  } else {
    aucPanel.append(el("p", "muted", "The run had no test samples."));
  }
  if (baseline.why_not) {
    aucPanel.append(el("p", "muted", `A logistic regression was not measured: ${baseline.why_not}.`));
  }
  Charts.curve(Page.panel(curves, "Samples/s", "over all workers"),
               [{name: "samples/s", points: whole.map((point) => [point[0], point[2]]), colour: 2}],
               {range, format: count});
  if (runs.length > 1) {
    Page.panel(curves, "Runs of the model").append(
      table([{name: "started"}, {name: "steps"}, {name: "samples", number: true},
             {name: "time", number: true}, {name: "data"}, {name: "digest of the data", code: true}],
            runs.map((run) => [
              run.started_at.replace("T", " ").replace("Z", " UTC"),
              `${count(run.first_step)} to ${count(run.steps)}`, count(run.samples),
              duration(run.seconds), run.data || "generated", run.data_digest])));
  }

  // ---- Where time went --------------------------------------------------------------------------

  const time = Page.section(main, "Where time went");
  const whatOf = (name) => stepPhases.find((phase) => phase.name === name).what;
  const ofRun = (key, name, what) => ({name, what, seconds: phases[key + "_seconds"] || 0});
  const computing = stepPhases.filter((phase) => phase.is_computing).map(({name, what}) => (
    {name: name.replace("_", " "), what, seconds: report.step_phases[name] || 0}));
  const kinds = [
    ofRun("start", "start", "opening data, meeting PS nodes"),
    ofRun("data", "read data", whatOf("data")),
    ofRun("pull", "pull rows", whatOf("pull")),
    ...computing,
    ofRun("push", "push gradients", whatOf("push")),
    ofRun("exchange", "exchange", whatOf("allreduce")),
    ofRun("test", "test", "evaluations"),
    ofRun("save", "save", "rows to disk, their digest, the dense part"),
  ];
  Charts.bars(Page.panel(time, "Seconds", "of the worker that wrote the report"),
              kinds.map((kind) => kind.name),
              [{name: "seconds", values: kinds.map((kind) => kind.seconds)}],
              {format: (value, isAxis) => (isAxis ? short(value) + " s" : duration(value))});
  Page.panel(time, "Parts").append(
    table([{name: "part"}, {name: "time", number: true}, {name: "of all", number: true},
           {name: "what it is"}],
          kinds.map((kind) => [kind.name, duration(kind.seconds), percent(kind.seconds, allSeconds),
                               kind.what])));

  // ---- What was predicted -----------------------------------------------------------------------

  const prediction = report.prediction;
  if (prediction) {
    const origin = prediction.calibration ? `times by ${prediction.calibration}`
                                          : "times of a typical server: this one is not calibrated";
    const section = Page.section(main, "Predicted and actual",
      `By the cost model: ${prediction.ids}; ${origin}; bound by ${prediction.bound}` +
      (prediction.is_oversubscribed ? "; more busy threads than cores, so that times are a guess."
                                    : "."));
    const off = ({predicted, actual}) =>
      isNumber(predicted) && isNumber(actual) && actual > 0
        ? `${predicted >= actual ? "+" : "\u2212"}${fixed(Math.abs(predicted / actual - 1) * 100, 1)} %`
        : "";
    const row = (name, pair, format) => [name, format(pair.predicted),
                                         isNumber(pair.actual) ? format(pair.actual) : "", off(pair)];
    const ms = (value) => `${fixed(value, 2)} ms`;
    const part = (value) => (isNumber(value) ? `${fixed(value * 100, 1)} %` : "");
    const phaseNames = Object.keys(prediction.phases_ms);
    Charts.bars(Page.panel(section, "Milliseconds a step",
                           "in the median step of the worker that wrote the report: the pull has " +
                             "what the means of the other phases leave of it"),
                phaseNames.map((name) => name.replace("_", " ")), [
                  {name: "predicted", values: phaseNames.map(
                    (name) => prediction.phases_ms[name].predicted), colour: 7},
                  {name: "actual", values: phaseNames.map(
                    (name) => prediction.phases_ms[name].actual)},
                ], {format: (value) => `${fixed(value, 2)} ms`});
    const columns = (first) => [{name: first}, {name: "predicted", number: true},
                                {name: "actual", number: true}, {name: "off", number: true}];
    Page.panel(section, "Figures, a step").append(
      table(columns("figure"),
            [row("time", prediction.step_ms, ms),
             row("bytes between workers and PS nodes", prediction.wire_bytes_per_step, bytes),
             row("rows found in caches", prediction.hit_rate, part)]));
    // Of ranks: those farthest from what was predicted, where there are many.
    const kMaxRanks = 16;
    const error = ({predicted, actual}) =>
      isNumber(predicted) && isNumber(actual) && actual > 0 ? Math.abs(predicted / actual - 1) : 0;
    const shownOf = (ranks, key) => ranks.length <= kMaxRanks ? ranks :
      [...ranks].sort((a, b) => error(b[key]) - error(a[key])).slice(0, kMaxRanks);
    const headingOf = (ranks, name) => ranks.length <= kMaxRanks ? `By ${name}` :
      `The ${kMaxRanks} of ${count(ranks.length)} ${name}s that are farthest off`;
    const nameOf = (rank, kind, list) => rank.name || `${kind} ${list.indexOf(rank)}`;
    const workers = prediction.workers;
    if (workers.length) {
      Page.panel(section, headingOf(workers, "worker"), "time of a median step").append(
        table(columns("worker"), shownOf(workers, "step_ms").flatMap((worker) => [
          row(nameOf(worker, "worker", workers), worker.step_ms, ms),
          ...stepPhases.filter((phase) => phase.is_exchange).map(
            ({name}) => row(`\u00b7 ${name}`, worker.phases_ms[name], ms))])));
    }
    const nodesShown = shownOf(prediction.ps_nodes, "busy_ms");
    Page.panel(section, headingOf(prediction.ps_nodes, "PS node"), "a step").append(
      table(columns("PS node"), nodesShown.flatMap((node) => [
        row(`${nameOf(node, "PS node", prediction.ps_nodes)}: rows pulled`, node.rows_pulled, count),
        row("\u00b7 bytes between it and workers", node.bytes, bytes),
        row("\u00b7 found in its caches", node.hit_rate, part),
        row("\u00b7 its threads at work", node.busy_ms, ms)])));
  }

  // ---- Load -------------------------------------------------------------------------------------

  const load = Page.section(main, "Rows pulled, and where they were",
    "First touch: never written before, so made by the initialiser. Memory: in the cache. " +
    (hasFiles ? "Disk: the pull waited for RocksDB to read it."
              : "Store: the pull waited for the store, which is in memory, too."));
  const pulledColumns = [
    {name: "rows pulled", number: true}, {name: "first touch", number: true},
    {name: "memory", number: true}, {name: store, number: true},
  ];
  const pulledCells = (one) => [
    count(one.rows_pulled), percent(one.rows_first_touched, one.rows_pulled),
    percent(one.rows_from_memory, one.rows_pulled), percent(one.rows_from_store, one.rows_pulled),
  ];
  const loadBars = (panel, list) => Charts.bars(panel, list.map((one) => one.name), [
    {name: "first touch", values: list.map((one) => one.rows_first_touched), colour: 4},
    {name: "memory", values: list.map((one) => one.rows_from_memory), colour: 0},
    {name: store, values: list.map((one) => one.rows_from_store), colour: 1},
  ], {isStacked: true, format: (value, isAxis) => (isAxis ? short(value) : count(value)),
      xName: "rows"});
  const kMax = 16;
  const heaviest = (list) => [...list].sort((a, b) => b.rows_pulled - a.rows_pulled).slice(0, kMax);
  const heading = (list, name) =>
    list.length > kMax ? `The busiest ${kMax} of ${count(list.length)} ${name}s`
                        : `By ${name}`;
  if (shards.length) {
    const panel = Page.panel(load, heading(shards, "shard"));
    const named = shards.map((one) => ({...one, name: one.name.replace(/ at \w+:.*/, "")}));
    loadBars(panel, (shards.length > kMax ? heaviest(named) : named).map(
      (one) => ({...one, name: one.name.replace(/ \(.*/, "")})));
    panel.append(table(
      [{name: "shard"}, ...pulledColumns, {name: "rows kept", number: true},
       {name: "pushed", number: true}, {name: "written", number: true},
       {name: "cache", number: true}],
      named.map((one) => [one.name, ...pulledCells(one), count(one.rows), count(one.rows_pushed),
                           count(one.rows_written), bytes(one.cache_bytes)])));
  }
  const loads = report.table_loads;
  if (loads.length) {
    const panel = Page.panel(load, heading(loads, "table"));
    loadBars(panel, loads.length > kMax ? heaviest(loads) : loads);
    panel.append(table(
      [{name: "table"}, ...pulledColumns, {name: "pushed", number: true}],
      loads.map((one) => [one.name, ...pulledCells(one), count(one.rows_pushed)])));
  }

  // ---- Memory -----------------------------------------------------------------------------------

  const plan = report.memory_plan;
  const memory = Page.section(main, "Memory of PS nodes", plan
    ? "Predicted by rowhouse plan --sizes from settings alone, for " +
      (plan.touched_rows === "run" ? "the rows that the run touches" : "all rows, touched or not") +
      "; measured: the most that was resident at one time."
    : "Not predicted: these PS nodes were started apart, with settings of their own.");
  const planned = nodes.map((_, n) => (plan && plan.nodes[n] ? plan.nodes[n].memory : null));
  const names = nodes.map((_, n) => "PS node " + n);
  const predicted = planned.map((one) => (one ? one.total_bytes : null));
  const memoryBars = [{name: "measured", values: nodes.map((node) => node.peak_bytes)}];
  if (plan) memoryBars.unshift({name: "predicted", values: predicted, colour: 7});
  const shownNodes = names.slice(0, kMax);
  Charts.bars(Page.panel(memory, names.length > kMax
                ? `The first ${kMax} of ${count(names.length)} PS nodes` : "Peak of the process"),
              shownNodes, memoryBars, {format: bytes, isBytes: true});
  Page.panel(memory, "Parts of the prediction").append(
    table([{name: "PS node"}, {name: "measured", number: true}, {name: "predicted", number: true},
           {name: "ratio", number: true}, {name: "process", number: true},
           {name: "cached rows", number: true}, {name: "beside them", number: true},
           {name: "requests", number: true}, {name: "memtables", number: true},
           {name: "rows kept", number: true}],
          nodes.map((node, n) => {
            const one = planned[n] || {};
            const ratio = node.peak_bytes && predicted[n] ? node.peak_bytes / predicted[n] : null;
            return [String(n), bytes(node.peak_bytes), bytes(predicted[n]), fixed(ratio, 2),
                    bytes(one.process_bytes), bytes(one.records_bytes), bytes(one.slots_bytes),
                    bytes(one.requests_bytes), bytes(one.stored_bytes), count(node.rows)];
          })));

  // ---- Settings ---------------------------------------------------------------------------------

  const settings = Page.section(main, "Settings and versions");
  const text = (value) => (Array.isArray(value) ? value.join(",") : String(value));
  const fold = (name, box) => {
    const details = el("details", "panel", el("summary", "", name), box);
    settings.append(details);
    return details;
  };
  for (const [name, members] of Object.entries(report.settings)) {
    if (typeof members !== "object") continue;
    fold(name, table([{name: "setting"}, {name: "value", code: true}],
                     Object.entries(members).map(([key, value]) => [key, text(value)])));
  }
  fold(`tables: ${count(report.tables.length)}`,
       table([{name: "table"}, {name: "kind"}, {name: "ids", number: true},
              {name: "dim", number: true}, {name: "optimizer"}, {name: "initialiser"}],
             report.tables.map((one) => [one.name, one.kind, count(one.rows), count(one.dim),
                                         one.optimizer, one.initialiser])));
  const facts = [
    ["command line", environment.command_line],
    ["config digest", report.settings.config_digest],
    ["rows digest", report.rows.digest],
    ["plan digest", report.sharding.plan_digest],
    ["strategy", text(report.sharding.strategy ?? "of a plan file")],
    ["cores of this host", count(environment.cores)],
    ...Object.entries(report.versions || {}),
  ];
  const versions = fold("versions, command line, digests",
                        table([{name: "what"}, {name: "value", code: true}], facts));
  versions.open = true;
  versions.classList.add("wide");
}
