#include "launch/lab/measured_runs.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "launch/report/report_file.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// A number that is above 0, which a logarithmic axis needs.
bool IsTime(const Json& json, const Json::json_pointer& place) {
  return json.contains(place) && json[place].is_number() && json[place].get<double>() > 0;
}

bool AddRun(const std::string& path, const Json& json, OrderedJson* list) {
  const Json::json_pointer predicted("/prediction/step_ms/predicted");
  const Json::json_pointer measured("/prediction/step_ms/actual");
  if (!IsTime(json, predicted) || !IsTime(json, measured)) return false;
  const std::string label =
      json.contains("label") && json["label"].is_string() ? json["label"].get<std::string>() : path;
  list->push_back({{"name", label},
                   {"family", "runs"},
                   {"predicted_ms", json[predicted].get<double>()},
                   {"measured_ms", json[measured].get<double>()}});
  return true;
}

bool AddAccountability(const Json& json, OrderedJson* list) {
  if (!json.contains("rows") || !json["rows"].is_array() || !json.contains("gmae")) return false;
  for (const Json& row : json["rows"]) {
    const Json::json_pointer predicted("/step_ms/predicted"), measured("/step_ms/measured");
    if (!row.is_object() || !IsTime(row, predicted) || !IsTime(row, measured)) continue;
    list->push_back({{"name", row.value("name", "")},
                     {"family", "accountability"},
                     {"predicted_ms", row[predicted].get<double>()},
                     {"measured_ms", row[measured].get<double>()}});
  }
  return true;
}

}  // namespace

Result<OrderedJson> MeasuredRuns(const std::string& paths) {
  OrderedJson list = OrderedJson::array();
  for (size_t begin = 0; begin <= paths.size();) {
    const size_t end = std::min(paths.find(',', begin), paths.size());
    const std::string path = paths.substr(begin, end - begin);
    ASSIGN_OR_RETURN(const Json json, ReadReportFile(path));
    if (!json.is_object() || (!AddRun(path, json, &list) && !AddAccountability(json, &list))) {
      return UsageError(
          "--reports: {}: neither report.json of a run with a prediction nor the JSON of rowhouse "
          "plan --accountability",
          path);
    }
    begin = end + 1;
  }
  return list;
}

}  // namespace rowhouse
