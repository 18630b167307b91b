#include "launch/calibrate/kernel_judgement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

constexpr size_t kWorstPoints = 10;

PredictionError ErrorOfPoints(const std::vector<const JudgedPoint*>& points) {
  std::vector<double> predicted, measured;
  for (const JudgedPoint* point : points) {
    predicted.push_back(point->predicted_ns);
    measured.push_back(point->measured_ns);
  }
  return ErrorOf(predicted, measured);
}

double ErrorOfPoint(const JudgedPoint& point) {
  return std::abs(RelativeError(point.predicted_ns, point.measured_ns));
}

}  // namespace

std::map<std::string, GroupError> ErrorsOfGroups(std::span<const JudgedPoint> judged) {
  std::map<std::string, std::vector<const JudgedPoint*>> all, held_out;
  for (const JudgedPoint& point : judged) {
    all[point.group].push_back(&point);
    if (!point.is_fitted) held_out[point.group].push_back(&point);
  }
  std::map<std::string, GroupError> errors;
  for (const auto& [group, points] : all) {
    errors[group] = {.all = ErrorOfPoints(points), .held_out = ErrorOfPoints(held_out[group])};
  }
  return errors;
}

std::string JudgementText(std::span<const JudgedPoint> judged) {
  std::string text = fmt::format("  {:<18}{:>7}{:>10}{:>10}{:>12}{:>20}\n", "kernels", "points",
                                 "GMAE", "p90", "held out", "GMAE of held out");
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    text += fmt::format("  {:<18}{:>7}{:>10}{:>10}{:>12}{:>20}{}\n", group, error.all.count,
                        PercentText(error.all.gmae), PercentText(error.all.p90),
                        error.held_out.count, PercentText(error.held_out.gmae),
                        error.all.gmae > kKernelTarget ? "  missed" : "");
  }
  std::vector<const JudgedPoint*> worst;
  for (const JudgedPoint& point : judged) worst.push_back(&point);
  std::ranges::sort(worst, std::greater<>(),
                    [](const auto* point) { return ErrorOfPoint(*point); });
  text += "\n  furthest off:\n";
  for (size_t i = 0; i < std::min(kWorstPoints, worst.size()); ++i) {
    const JudgedPoint& point = *worst[i];
    text += fmt::format("  {:<26}{:<22}{:>12.1f} us predicted {:>12.1f} us measured, spread {}{}\n",
                        point.kernel, fmt::format("{:g}", fmt::join(point.sizes, " x ")),
                        point.predicted_ns / 1e3, point.measured_ns / 1e3,
                        PercentText(point.spread), point.is_fitted ? "" : ", held out");
  }
  return text;
}

nlohmann::ordered_json JudgementToJson(std::span<const JudgedPoint> judged) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (const auto& [group, error] : ErrorsOfGroups(judged)) {
    groups[group] = {{"all", PredictionErrorToJson(error.all)},
                     {"held_out", PredictionErrorToJson(error.held_out)}};
  }
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const JudgedPoint& point : judged) {
    points.push_back({{"group", point.group},
                      {"kernel", point.kernel},
                      {"sizes", point.sizes},
                      {"is_fitted", point.is_fitted},
                      {"predicted_ns", point.predicted_ns},
                      {"measured_ns", point.measured_ns},
                      {"spread", point.spread}});
  }
  return {{"groups", std::move(groups)}, {"points", std::move(points)}};
}

}  // namespace rowhouse
