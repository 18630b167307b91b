#include "launch/report/training_history.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/json_text.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;

Json FiniteNumber(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json FiniteNumber(const std::optional<double>& value) {
  return value ? FiniteNumber(*value) : Json(nullptr);
}

double ToDouble(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
std::optional<double> ToOptional(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

uint64_t DigestFromHex(const std::string& text) {
  uint64_t digest = 0;
  std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  return digest;
}

Json ToJson(const RunReport::Run& run) {
  return {{"first_step", run.first_step},  {"steps", run.steps},
          {"samples", run.samples},        {"seconds", FiniteNumber(run.seconds)},
          {"started_at", run.started_at},  {"data", run.data},
          {"data_digest", run.data_digest}};
}

RunReport::Run RunFromJson(const Json& json) {
  return {.started_at = json.at("started_at").get<std::string>(),
          .first_step = json.at("first_step").get<uint64_t>(),
          .steps = json.at("steps").get<uint64_t>(),
          .samples = json.at("samples").get<uint64_t>(),
          .seconds = ToDouble(json.at("seconds")),
          .data = json.at("data").get<std::string>(),
          .data_digest = json.at("data_digest").get<std::string>()};
}

RunReport::CurvePoint PointFromJson(const Json& json) {
  return {.step = json.at(0).get<uint64_t>(),
          .epoch = json.at(1).get<uint64_t>(),
          .loss = ToDouble(json.at(2)),
          .accuracy = ToOptional(json.at(3)),
          .samples_per_second = ToDouble(json.at(4)),
          .learning_rate = ToDouble(json.at(5))};
}

RunReport::Evaluation EvaluationFromJson(const Json& json) {
  return {.step = json.at(0).get<uint64_t>(),
          .samples = json.at(1).get<uint64_t>(),
          .auc = ToOptional(json.at(2)),
          .logloss = ToDouble(json.at(3)),
          .accuracy = ToDouble(json.at(4)),
          .data_digest = DigestFromHex(json.at(5).get<std::string>())};
}

TrainingHistory Parse(const Json& json) {
  TrainingHistory history;
  for (const Json& run : json.at("runs")) history.runs.push_back(RunFromJson(run));
  for (const Json& point : json.at("curve")) history.curve.push_back(PointFromJson(point));
  for (const Json& one : json.at("evaluations")) {
    history.evaluations.push_back(EvaluationFromJson(one));
  }
  return history;
}

}  // namespace

void TrainingHistory::DropAfter(uint64_t steps) {
  const auto is_after = [steps](const auto& point) { return point.step > steps; };
  std::erase_if(curve, is_after);
  std::erase_if(evaluations, is_after);
  std::erase_if(runs, [steps](const RunReport::Run& run) { return run.first_step >= steps; });
  if (!runs.empty()) runs.back().steps = std::min(runs.back().steps, steps);
}

std::string TrainingHistory::ToJsonText() const {
  Json json = {{"format", 1},
               {"runs", Json::array()},
               {"curve", Json::array()},
               {"evaluations", Json::array()}};
  for (const RunReport::Run& run : runs) json["runs"].push_back(ToJson(run));
  for (const RunReport::CurvePoint& point : curve) {
    json["curve"].push_back(Json::array(
        {point.step, point.epoch, FiniteNumber(point.loss), FiniteNumber(point.accuracy),
         FiniteNumber(point.samples_per_second), FiniteNumber(point.learning_rate)}));
  }
  for (const RunReport::Evaluation& one : evaluations) {
    json["evaluations"].push_back(
        Json::array({one.step, one.samples, FiniteNumber(one.auc), FiniteNumber(one.logloss),
                     FiniteNumber(one.accuracy), fmt::format("{:016x}", one.data_digest)}));
  }
  return DumpJson(json) + "\n";
}

Result<TrainingHistory> TrainingHistory::FromJsonText(const std::string& text) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  try {
    return Parse(json);
  } catch (const Json::exception& error) {
    return CorruptionError("no learning curve: {}", error.what());
  }
}

}  // namespace rowhouse
