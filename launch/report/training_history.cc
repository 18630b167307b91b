#include "launch/report/training_history.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/json_text.h"
#include "launch/figures/json_members.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kFormat = 1;

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
  for (const auto& [name, list] : {std::pair{"validations", &history.validations},
                                   std::pair{"progressive", &history.progressive}}) {
    if (!json.contains(name)) continue;  // of a build before there were any
    for (const Json& one : json.at(name)) list->push_back(EvaluationFromJson(one));
  }
  return history;
}

}  // namespace

void TrainingHistory::DropAfter(uint64_t steps) {
  const auto is_after = [steps](const auto& point) { return point.step > steps; };
  std::erase_if(curve, is_after);
  std::erase_if(evaluations, is_after);
  std::erase_if(validations, is_after);
  std::erase_if(progressive, is_after);
  std::erase_if(runs, [steps](const RunReport::Run& run) { return run.first_step >= steps; });
  if (!runs.empty()) runs.back().steps = std::min(runs.back().steps, steps);
}

std::string TrainingHistory::ToJsonText() const {
  const auto of_run = [](const RunReport::Run& run) {
    return MEMBERS_AS_JSON(run, started_at, first_step, steps, samples, seconds, data, data_digest);
  };
  const auto list_of = [](const auto&... figures) {
    return nlohmann::ordered_json::array({FigureOrNull(figures)...});
  };
  const auto of_point = [&](const RunReport::CurvePoint& point) {
    return list_of(point.step, point.epoch, point.loss, point.accuracy, point.samples_per_second,
                   point.learning_rate);
  };
  const auto of_evaluation = [&](const RunReport::Evaluation& one) {
    return list_of(one.step, one.samples, one.auc, one.logloss, one.accuracy,
                   fmt::format("{:016x}", one.data_digest));
  };
  return DumpJson(Json{{"format", kFormat},
                       {"runs", ListAsJson(runs, of_run)},
                       {"curve", ListAsJson(curve, of_point)},
                       {"evaluations", ListAsJson(evaluations, of_evaluation)},
                       {"validations", ListAsJson(validations, of_evaluation)},
                       {"progressive", ListAsJson(progressive, of_evaluation)}}) +
         "\n";
}

Result<TrainingHistory> TrainingHistory::FromJsonText(const std::string& text) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  try {
    ASSIGN_OR_RETURN(const uint64_t format, ReadFormatNumber(json.at("format"), "format"));
    if (format != kFormat) {
      return UsageError("format {} is newer than this program, which reads up to {}", format,
                        kFormat);
    }
    return Parse(json);
  } catch (const Json::exception& error) {
    return CorruptionError("no learning curve: {}", error.what());
  }
}

}  // namespace rowhouse
