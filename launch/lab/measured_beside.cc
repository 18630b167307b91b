#include "launch/lab/measured_beside.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/median.h"
#include "launch/figures/report_file.h"
#include "launch/figures/text_table.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

double ErrorOf(double simulated, double measured) {
  return measured > 0 ? (simulated - measured) / measured : 0;
}

// A table as one text: "page: 50,000 rows of 32 floats".
std::string TableText(const std::string& name, uint64_t rows, uint64_t dim) {
  return fmt::format("\"{}\": {} of {} floats", name, Counted(rows, "row"), dim);
}

// The first table in which a run differs, for people; "": none.
std::string OtherTableText(const nlohmann::json& of_run, std::span<const LogicalTable> tables) {
  if (of_run.size() != tables.size()) return Counted(of_run.size(), "table");
  for (size_t t = 0; t < tables.size(); ++t) {
    const std::string text =
        TableText(of_run[t].at("name").get<std::string>(), of_run[t].at("rows").get<uint64_t>(),
                  of_run[t].at("dim").get<uint64_t>());
    if (text != TableText(tables[t].name, tables[t].rows, tables[t].dim)) return text;
  }
  return "";
}

// What one report says.
struct OneRun {
  double step_ms = 0, wire_bytes = 0;
  std::vector<double> load;
};

Result<OneRun> ReadRun(const std::string& path, const ClusterShape& cluster,
                       std::span<const LogicalTable> tables) {
  ASSIGN_OR_RETURN(const nlohmann::json json, ReadReportFile(path));
  OneRun run;
  uint64_t workers = 0;
  std::string other_table;
  try {
    const nlohmann::json& totals = json.at("totals");
    const double steps = totals.at("steps").get<double>();
    run.step_ms = totals.at("median_step_ms").get<double>();
    run.wire_bytes = totals.at("wire_bytes_per_step").get<double>();
    other_table = OtherTableText(json.at("tables"), tables);
    workers = json.at("environment").at("workers").get<uint64_t>();
    for (const nlohmann::json& node : json.at("sharding").at("ps_nodes")) {
      run.load.push_back(node.at("rows_pulled").get<double>() / steps);
    }
  } catch (const nlohmann::json::exception& error) {
    return UsageError("--reports: {} is no report of a whole run: {}", path, error.what());
  }
  if (!other_table.empty()) {
    return UsageError("--reports: {} is of a run of another model, which has {}; say its --config",
                      path, other_table);
  }
  if (workers != cluster.workers || run.load.size() != cluster.ps) {
    return UsageError(
        "--reports: {} is of a run of {} and {}, and the simulation is of {} and {}; say "
        "--ps={} --workers={}",
        path, Counted(run.load.size(), "PS node"), Counted(workers, "worker"),
        Counted(cluster.ps, "PS node"), Counted(cluster.workers, "worker"), run.load.size(),
        workers);
  }
  return run;
}

TextTable::Column NumberColumn(const char* name) { return {.name = name, .is_number = true}; }

}  // namespace

Result<MeasuredRun> ReadMeasuredRun(const std::string& paths, const ClusterShape& cluster,
                                    std::span<const LogicalTable> tables) {
  std::vector<double> step_ms, wire_bytes;
  std::vector<std::vector<double>> load(cluster.ps);
  for (size_t begin = 0; begin <= paths.size();) {
    const size_t end = std::min(paths.find(',', begin), paths.size());
    ASSIGN_OR_RETURN(const OneRun run, ReadRun(paths.substr(begin, end - begin), cluster, tables));
    step_ms.push_back(run.step_ms);
    wire_bytes.push_back(run.wire_bytes);
    for (size_t p = 0; p < load.size(); ++p) load[p].push_back(run.load[p]);
    begin = end + 1;
  }
  MeasuredRun measured{.runs = step_ms.size(),
                       .step_ms = MedianOf(step_ms),
                       .wire_bytes = MedianOf(wire_bytes),
                       .load = {}};
  const auto [least, most] = std::ranges::minmax(step_ms);
  if (measured.step_ms > 0) measured.step_spread = (most - least) / measured.step_ms;
  for (const std::vector<double>& node : load) measured.load.push_back(MedianOf(node));
  return measured;
}

std::string BesideText(const SimulatedRun& simulated, const MeasuredRun& measured) {
  TextTable table = {.columns = {{.name = "figure"},
                                 NumberColumn("simulated"),
                                 NumberColumn("measured"),
                                 NumberColumn("error %")},
                     .rows = {}};
  const auto add = [&](std::string name, double expected, double real, int digits) {
    table.rows.push_back({std::move(name), fmt::format("{:.{}f}", expected, digits),
                          fmt::format("{:.{}f}", real, digits),
                          fmt::format("{:+.1f}", 100 * ErrorOf(expected, real))});
  };
  add("median step, ms", simulated.median_step_ms, measured.step_ms, 3);
  constexpr double kMiB = 1 << 20;
  add("MiB on the wire a step", simulated.wire_bytes / kMiB, measured.wire_bytes / kMiB, 3);
  for (size_t p = 0; p < measured.load.size(); ++p) {
    add(fmt::format("rows a step, PS node {}", p), simulated.ps[p].load, measured.load[p], 0);
  }
  const std::string spread =
      measured.runs < 2
          ? ""
          : fmt::format(", whose median steps are {:.1f} % apart", 100 * measured.step_spread);
  return fmt::format("\nBeside {}{}:\n\n{}", Counted(measured.runs, "real run"), spread,
                     TableAsText(table));
}

OrderedJson BesideToJson(const SimulatedRun& simulated, const MeasuredRun& measured) {
  const auto both = [](double expected, double real) {
    return OrderedJson{
        {"simulated", expected}, {"measured", real}, {"error", ErrorOf(expected, real)}};
  };
  OrderedJson json = {{"runs", measured.runs},
                      {"step_ms", both(simulated.median_step_ms, measured.step_ms)},
                      {"wire_bytes", both(simulated.wire_bytes, measured.wire_bytes)},
                      {"load", OrderedJson::array()}};
  json["step_ms"]["spread"] = measured.step_spread;
  for (size_t p = 0; p < measured.load.size(); ++p) {
    json["load"].push_back(both(simulated.ps[p].load, measured.load[p]));
  }
  return json;
}

}  // namespace rowhouse
