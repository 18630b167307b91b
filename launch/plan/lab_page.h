// The page of the sharding lab: `--html=FILE` of the modes of `rowhouse plan`.
//
// Its data is an object; each member draws a part, and those that are missing draw nothing:
//   title, subtitle, warnings, assumptions, grids  as FiguresAsPage()
//   cluster, machine, model, ids, samples  as LabRunToJson() (candidates_report.h)
//   best, configured, strategies  as `rowhouse plan --strategies --json`
//   loads {nodes: [name], tables: [{name, rows: [of each node]}]}
//   curves [{title, note, x, y, x_is: "count" | "bytes", y_is: "count" | "share", is_log, series:
//     [{name, points: [[x, y]]}]}]  x > 0, drawn by its logarithm; y as well if is_log
//   measured [{name, family: "runs" | "accountability", predicted_ms, measured_ms}]
// Threads: any.
#pragma once

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/figures/figures.h"

namespace rowhouse {

// kUsage if --reports names what is no report, or if there is no page for it. Modes call it before
// they work.
Status CheckLabPage(const CommandLine& command_line);

// kUsage if --html or --reports is given, for what has no page: one plan.
Status CheckNoLabPage(const CommandLine& command_line);

// Prints or writes the figures as --json asks, and writes the page if --html is given, whole or not
// at all, with what --reports adds; a line on standard output says so, unless that is for JSON.
Status DeliverLabFigures(const CommandLine& command_line, const Figures& figures);

}  // namespace rowhouse
