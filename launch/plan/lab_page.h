// The page of the sharding lab: `--html=FILE` of the modes of `rowhouse plan`.
//
// Its data is an object; each member draws a part, and those that are missing draw nothing:
//   title, subtitle; warnings [text]
//   cluster, machine, model, ids, strategies, tables, gains  as CandidatesToJson()
//     (candidates_report.h)
//   assumptions [[name, text]]
//   loads {nodes: [name], tables: [{name, rows: [of each node]}]}
//   curves [{title, note, x, y, x_is: "count" | "bytes", y_is: "count" | "share", is_log, series:
//     [{name, points: [[x, y]]}]}]  x > 0, drawn by its logarithm; y as well if is_log
//   measured [{name, predicted_ms, measured_ms}]
//   grids [{title, note, columns: [{name, number}], rows: [[text]]}]
// Threads: any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/figures/text_table.h"
#include "launch/plan/candidate_plans.h"

namespace rowhouse {

// kUsage if --reports names what is no report, or if there is no page for it. Modes call it before
// they work.
Status CheckLabPage(const CommandLine& command_line);

// kUsage if --html or --reports is given, for what has no page: one plan.
Status CheckNoLabPage(const CommandLine& command_line);

// A member of `grids`.
nlohmann::ordered_json PageGrid(const std::string& title, const std::string& note,
                                const TextTable& table);

// Writes the page if --html is given, whole or not at all, and prints a line that says so, unless
// standard output is for JSON. `data` is changed only by what --reports adds.
Status WriteLabPage(const CommandLine& command_line, nlohmann::ordered_json data);

// The same of candidates, whose JSON is `data`: with loads and miss ratios added.
Status WriteCandidatesPage(const CommandLine& command_line, const LabRun& run,
                           std::span<const CandidatePlan> candidates, nlohmann::ordered_json data);

}  // namespace rowhouse
