"use strict";
// The sharding lab: what plans would cost, and how right that was. Every part is drawn if its data
// are there (launch/plan/lab_page.h).
function drawLab(data) {
  const {el, count, fixed, bytes, short, table, isNumber} = Page;
  const ms = (value, isAxis) => (isAxis ? short(value) : fixed(value, value < 10 ? 3 : 2)) + " ms";
  const percent = (share) => fixed(100 * share, 1) + " %";
  const counted = (number, one) => `${count(number)} ${one}${number === 1 ? "" : "s"}`;
  const main = Page.begin("Sharding lab", data.title || "Sharding lab", data.subtitle || "");
  const machine = data.machine || {};
  for (const warning of [machine.warning, ...(data.warnings || [])]) {
    if (warning) main.append(el("div", "notice", warning));
  }
  if (data.machine) drawRun();
  if (data.strategies) {
    drawGrids("Plans");
    drawStrategies();
  }
  if (data.loads) drawLoads();
  if (data.curves) drawCurves();
  if (data.measured) drawMeasured();
  if (!data.strategies && data.grids.length) drawGrids("Figures");

  function drawRun() {
    const cluster = data.cluster;
    if (cluster) main.append(Page.cards([
      ["PS nodes", count(cluster.ps), counted(cluster.shards_per_ps, "shard") + " each"],
      ["Workers", count(cluster.workers), counted(cluster.threads, "thread") + " each"],
      ["Hosts", count(cluster.hosts), counted(cluster.cores_per_host, "core") + " each"],
      ["Network", cluster.network_gbits === null ? null : short(cluster.network_gbits) + " Gb/s",
       cluster.round_trip_us === null ? "" : short(cluster.round_trip_us) + " \u00b5s there and back"],
      ["Samples", typeof data.samples === "number" ? count(data.samples) : null, "a step"],
    ]));
    const measured = machine.calibration
      ? `${machine.host}, measured ${machine.measured_at}` : "typical figures, not calibrated";
    for (const [name, what] of [["machine", measured], ["model", data.model], ["lookups", data.ids],
                                ...(data.assumptions || [])]) {
      if (what) main.append(el("p", "muted fact", `${name}: ${what}`));
    }
  }

  function drawGrids(heading) {
    const grid = Page.section(main, heading);
    for (const {title, note, columns, rows} of data.grids) {
      // A column of flags is never broken.
      const whole = (at) => rows.some((row) => row[at].startsWith("--"));
      Page.panel(grid, title, note, columns.length > 6)
        .append(table(columns.map((column, at) => ({...column, whole: whole(at)})), rows));
    }
  }

  function drawStrategies() {
    const can = data.strategies.filter((one) => !one.refused);
    if (can.length) {
      const computing = data.step_phases.filter((phase) => phase.is_computing);
      const phases = data.step_phases.filter((phase) => !phase.is_computing)
        .map(({name}) => [name, (p) => p[name]]);
      phases.splice(2, 0, ["compute", (p) => computing.reduce(
        (sum, {name}) => sum + (p[name] || 0), 0)]);
      const grid = Page.section(main, "Time of a step", "", false);
      Charts.bars(Page.panel(grid, "By phase", "of the slowest worker", true),
                  can.map((one) => one.name),
                  phases.map(([name, of]) => ({name, values: can.map((one) => of(one.phases))})),
                  {isStacked: true, format: ms, xName: "ms", isBestShortest: true});
    }
  }

  function drawLoads() {
    const {nodes, tables} = data.loads;
    const grid = Page.section(main, "Load of PS nodes");
    const note = data.loads.of_nodes > nodes.length
      ? `the first ${nodes.length} of ${count(data.loads.of_nodes)}` : "";
    Charts.bars(Page.panel(grid, `Rows a step, by table${data.loads.plan ? ", with " + data.loads.plan : ""}`,
                           note, true),
                nodes, tables.map((one) => ({name: one.name, values: one.rows})),
                {isStacked: true, xName: "rows a step",
                 format: (value, isAxis) => (isAxis ? short(value) : count(value))});
  }

  function drawCurves() {
    const grid = Page.section(main, "Curves", "", true);
    for (const one of data.curves) {
      const x = {name: one.x, format: one.x_is === "bytes" ? bytes : short};
      const series = one.series.map(({name, points}) => ({
        name, points: points.filter((at) => at[1] !== null).map(([at, y]) => [Math.log2(at), y]),
      }));
      const all = series.flatMap(({points}) => points.map((at) => at[0]));
      Charts.curve(Page.panel(grid, one.title, one.note), series, {
        range: [Math.min(...all), Math.max(...all)], powers: x, yName: one.y,
        format: one.y_is === "share" ? percent : (value) => count(Math.round(value)),
        isLog: Boolean(one.is_log),
      });
    }
  }

  function drawMeasured() {
    const grid = Page.section(main, "Prediction and measurement");
    const families = new Map();
    for (const one of data.measured) {
      const family = one.family || "runs";
      if (!families.has(family)) families.set(family, []);
      families.get(family).push(
        {name: one.name, measured: one.measured_ms, predicted: one.predicted_ms});
    }
    const list = [...families].map(([name, points]) => ({name, points}));
    Charts.against(Page.panel(grid, "Time of a step"), list);
    Page.panel(grid, "Figures").append(
      table([{name: "run"}, {name: "predicted, ms", number: true},
             {name: "measured, ms", number: true}, {name: "error", number: true}],
            data.measured.map((one) => [
              one.name, fixed(one.predicted_ms, 3), fixed(one.measured_ms, 3),
              percent(one.predicted_ms / one.measured_ms - 1)])));
  }
}
