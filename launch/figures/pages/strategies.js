"use strict";
// What sharding strategies cost: rowhouse compare --strategies.
function drawStrategies({strategies, grid, fault}) {
  const {el, fixed, bytes, short, table} = Page;
  const trained = strategies.filter((one) => !one.refused);
  const fastest = [...trained].sort((a, b) => a.step_ms_median - b.step_ms_median)[0];
  const main = Page.begin("Sharding", "Sharding strategies compared", fastest
    ? `Fastest step: ${fixed(fastest.step_ms_median, 2)} ms, with ${fastest.strategy}`
    : "Every strategy was refused");
  if (fault) main.append(el("div", "notice", fault));

  main.append(table(grid.columns, grid.rows));
  main.append(el("p", "muted",
    "max: of the PS nodes, and max/mean over them. Plan: bytes of rows and state that the plan puts on a PS node, by arithmetic, if every row is " +
    "touched. Cache: memory set aside for its caches. Rows stored: counted at the end, each where " +
    "its first columns are. On a worker: memory of rows that live on the workers. Bytes a step: " +
    "frames between workers and shards, both directions, all workers; what workers exchange among " +
    "themselves is not in it. ms a step: the median step of a run; of several runs their median, " +
    "and the least and the most. +bags: bags are pooled on the shards."));

  if (trained.length) {
    const charts = Page.section(main, "Cost of a step");
    const names = trained.map((one) => one.strategy);
    Charts.bars(Page.panel(charts, "Time"), names,
                [{name: "ms", values: trained.map((one) => one.step_ms_median)}],
                {format: (value, isAxis) => (isAxis ? short(value) : fixed(value, 2)) + " ms",
                 xName: "ms a step", isBestShortest: true});
    Charts.bars(Page.panel(charts, "On the wire"), names,
                [{name: "bytes", values: trained.map((one) => one.wire_bytes_per_step), colour: 1}],
                {format: bytes, isBytes: true, xName: "bytes a step"});
    Charts.points(Page.panel(charts, "Bytes and time", "left moves less, down is faster", true),
                  trained.map((one) => ({name: one.strategy, x: one.wire_bytes_per_step, y: one.step_ms_median})), [],
                  {xName: "bytes on the wire a step", yName: "ms a step", xFormat: bytes,
                   yFormat: (value, isAxis) => (isAxis ? short(value) : fixed(value, 2)) + " ms"});
  }
}
