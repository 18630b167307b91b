"use strict";
// What sharding strategies cost: rowhouse compare --strategies.
function drawStrategies({strategies, fault}) {
  const {el, count, fixed, bytes, short, table} = Page;
  const trained = strategies.filter((one) => !one.refused);
  const refused = strategies.filter((one) => one.refused);
  const fastest = [...trained].sort((a, b) => a.step_ms - b.step_ms)[0];
  const main = Page.begin("Sharding", "Sharding strategies compared", fastest
    ? `Fastest step: ${fixed(fastest.step_ms, 2)} ms, with ${fastest.name}`
    : "Every strategy was refused");
  if (fault) main.append(el("div", "notice", fault));

  main.append(table(
    [{name: "strategy"}, {name: "ms a step", number: true}, {name: "min to max", number: true},
     {name: "bytes a step", number: true}, {name: "plan, fullest", number: true},
     {name: "max / mean", number: true}, {name: "cache, fullest", number: true},
     {name: "max / mean", number: true}, {name: "rows stored, fullest", number: true},
     {name: "max / mean", number: true}, {name: "rows pulled, busiest", number: true},
     {name: "max / mean", number: true}, {name: "on a worker", number: true},
     {name: "rows digest", code: true}],
    trained.map((one) => [
      one.name, fixed(one.step_ms, 2), `${fixed(one.step_ms_min, 2)}\u2013${fixed(one.step_ms_max, 2)}`,
      bytes(one.wire_bytes),
      bytes(one.placed_bytes.max), fixed(one.placed_bytes.max_over_mean, 3),
      bytes(one.cache_bytes.max), fixed(one.cache_bytes.max_over_mean, 3),
      count(one.rows_stored.max), fixed(one.rows_stored.max_over_mean, 3),
      count(one.rows_pulled.max), fixed(one.rows_pulled.max_over_mean, 3),
      bytes(one.worker_bytes), one.digest,
    ])));
  main.append(el("p", "muted",
    "Fullest and busiest: of the PS nodes; rows pulled are those of a step. Plan: bytes of rows and state that the plan puts on a PS node, by arithmetic, if every row is " +
    "touched. Cache: memory set aside for its caches. Rows stored: counted at the end, each where " +
    "its first columns are. On a worker: memory of rows that live on the workers. Bytes a step: " +
    "frames between workers and shards, both directions, all workers; what workers exchange among " +
    "themselves is not in it. ms a step: the median step of a run; of several runs their median, " +
    "and the least and the most. +bags: bags are pooled on the shards."));

  if (trained.length) {
    const grid = Page.section(main, "Cost of a step");
    const names = trained.map((one) => one.name);
    Charts.bars(Page.panel(grid, "Time"), names,
                [{name: "ms", values: trained.map((one) => one.step_ms)}],
                {format: (value, isAxis) => (isAxis ? short(value) : fixed(value, 2)) + " ms",
                 xName: "ms a step", isBestShortest: true});
    Charts.bars(Page.panel(grid, "On the wire"), names,
                [{name: "bytes", values: trained.map((one) => one.wire_bytes), colour: 1}],
                {format: bytes, isBytes: true, xName: "bytes a step"});
    Charts.points(Page.panel(grid, "Bytes and time", "left moves less, down is faster", true),
                  trained.map((one) => ({name: one.name, x: one.wire_bytes, y: one.step_ms})), [],
                  {xName: "bytes on the wire a step", yName: "ms a step", xFormat: bytes,
                   yFormat: (value, isAxis) => (isAxis ? short(value) : fixed(value, 2)) + " ms"});
  }
  if (refused.length) {
    main.append(el("h2", "", "Refused"));
    main.append(table([{name: "strategy"}, {name: "why"}],
                      refused.map((one) => [one.name, one.refused])));
  }
}
