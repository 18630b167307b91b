// rowhouse data head DIR: the first samples of data in the binary form.
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/json_output.h"

namespace rowhouse {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kDefaultSamples = 10, kMaxSamples = 1'000'000;

Result<Batch> ReadFirst(const DataDirectory& data, uint64_t count) {
  std::vector<SamplePlace> places;
  for (uint64_t i = 0; i < std::min(count, data.samples()); ++i) places.push_back(data.PlaceOf(i));
  Batch batch;
  batch.Clear(data.columns().dense.size(), data.columns().categorical.size());
  RETURN_IF_ERROR(data.Append(places, &batch));
  return batch;
}

ordered_json SampleJson(const DataColumns& columns, const Batch& batch, size_t sample) {
  ordered_json json = {{"label", batch.labels[sample]}};
  if (!batch.weights.empty()) json["weight"] = batch.weights[sample];
  for (size_t k = 0; k < columns.dense.size(); ++k) {
    json["dense"][columns.dense[k]] = batch.dense[sample * columns.dense.size() + k];
  }
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    const Bags& bags = batch.features[k];
    ordered_json& ids = json["ids"][columns.categorical[k]];
    ids = ordered_json::array();
    for (size_t i = bags.offsets[sample]; i < bags.offsets[sample + 1]; ++i) {
      ids.push_back(bags.ids[i]);
      if (!bags.weights.empty()) {
        json["id_weights"][columns.categorical[k]].push_back(bags.weights[i]);
      }
    }
  }
  return json;
}

// "user 17, tags 4x1 5x2 6x1".
std::string SampleText(const DataColumns& columns, const Batch& batch, size_t sample) {
  std::string text = fmt::format("{}: label {}", sample, batch.labels[sample]);
  if (!batch.weights.empty()) text += fmt::format(", weight {}", batch.weights[sample]);
  for (size_t k = 0; k < columns.dense.size(); ++k) {
    text += fmt::format("{} {} {}", k == 0 ? ";" : ",", columns.dense[k],
                        batch.dense[sample * columns.dense.size() + k]);
  }
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    const Bags& bags = batch.features[k];
    text += fmt::format("{} {}", k == 0 ? ";" : ",", columns.categorical[k]);
    for (size_t i = bags.offsets[sample]; i < bags.offsets[sample + 1]; ++i) {
      text += fmt::format(" {}", bags.ids[i]);
      if (!bags.weights.empty()) text += fmt::format("x{}", bags.weights[i]);
    }
    if (bags.offsets[sample] == bags.offsets[sample + 1]) text += " -";
  }
  return CleanText(text) + "\n";
}

Status RunHead(const CommandLine& command_line, const std::vector<std::string>& arguments,
               const Settings& settings) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DataDirectory> data,
                   OpenDataArgument("head", arguments, settings));
  uint64_t count = kDefaultSamples;
  RETURN_IF_ERROR(
      ReadFlag(command_line, kMaxSamplesFlag, WholeValue<uint64_t>(1, kMaxSamples), &count));
  ASSIGN_OR_RETURN(const Batch batch, ReadFirst(*data, count));
  std::string text;
  ordered_json json = ordered_json::array();
  for (size_t sample = 0; sample < batch.samples; ++sample) {
    text += SampleText(data->columns(), batch, sample);
    json.push_back(SampleJson(data->columns(), batch, sample));
  }
  return DeliverFigures(command_line.Value(kJsonFlag), DumpJson(json, 1) + "\n", text);
}

REGISTER_MEMBER(AddDataCommand(
    {"head", "DIR", "prints the first samples of data in the binary form (--max_samples)",
     &RunHead}));

}  // namespace
}  // namespace rowhouse
