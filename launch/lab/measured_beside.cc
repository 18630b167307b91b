#include "launch/lab/measured_beside.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/median.h"
#include "common/read_value.h"
#include "launch/figures/json_output.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

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

}  // namespace

Result<MeasuredRun> ReadMeasuredRun(const std::string& paths, const ClusterShape& cluster,
                                    std::span<const LogicalTable> tables) {
  std::vector<double> step_ms, wire_bytes;
  std::vector<std::vector<double>> load(cluster.ps);
  if (paths.empty()) return UsageError("--reports names no file");
  for (const std::string& path : SplitAtCommas(paths)) {
    ASSIGN_OR_RETURN(const OneRun run, ReadRun(path, cluster, tables));
    step_ms.push_back(run.step_ms);
    wire_bytes.push_back(run.wire_bytes);
    for (size_t p = 0; p < load.size(); ++p) load[p].push_back(run.load[p]);
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

void AddBeside(const SimulatedRun& simulated, const MeasuredRun& measured, Figures* figures) {
  FigureTable table{.title = "Beside real runs",
                    .columns = {{.title = "figure"},
                                {.title = "simulated", .text = FixedText<3>},
                                {.title = "measured", .text = FixedText<3>},
                                {.title = "error %", .text = FixedText<1>}}};
  const auto add = [&](const std::string& name, NumberText text, double scale, double expected,
                       double real) {
    const double error = real > 0 ? (expected - real) / real : 0;
    table.rows.push_back(
        {name, text(expected * scale), text(real * scale), fmt::format("{:+.1f}", 100 * error)});
    return OrderedJson{{"simulated", expected}, {"measured", real}, {"error", error}};
  };
  OrderedJson& json = figures->json["beside"] = {{"runs", measured.runs}};
  json["step_ms"] =
      add("median step, ms", FixedText<3>, 1, simulated.median_step_ms, measured.step_ms);
  json["step_ms"]["spread"] = measured.step_spread;
  json["wire_bytes"] = add("MiB on the wire a step", FixedText<3>, 1.0 / (1 << 20),
                           simulated.wire_bytes, measured.wire_bytes);
  json["load"] = OrderedJson::array();
  for (size_t p = 0; p < measured.load.size(); ++p) {
    json["load"].push_back(add(fmt::format("rows a step, PS node {}", p), FixedText<0>, 1,
                               simulated.ps[p].load, measured.load[p]));
  }
  const std::string spread =
      measured.runs < 2
          ? ""
          : fmt::format(", whose median steps are {:.1f} % apart", 100 * measured.step_spread);
  figures->Say("\nBeside {}{}:\n\n", Counted(measured.runs, "real run"), spread);
  figures->Add(std::move(table));
}

}  // namespace rowhouse
