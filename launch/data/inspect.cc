// rowhouse data info, head and verify DIR: what data in the binary form are and where they came
// from; the first samples; whether every block is as it was written.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "common/mutex.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/figures.h"
#include "launch/figures/json_output.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

using nlohmann::ordered_json;

// ---- info ------------------------------------------------------------------------------------

uint64_t BytesOf(const DataDirectory& data) {
  const BlockPlace& last = data.description().blocks.back();
  return last.offset + last.bytes;
}

// A row each categorical column.
FigureTable ColumnTable(const DataDirectory& data, const Preprocessing* preprocessing) {
  const bool is_mapped = preprocessing != nullptr;
  FigureTable table = {.key = "categorical",
                       .columns = {{"name", "categorical column"},
                                   {"rows", "rows", &CountText},
                                   {is_mapped ? "ids" : "", "ids"},
                                   {is_mapped ? "tokens" : "", ""},
                                   {"", "tokens", &CountText}}};
  for (size_t k = 0; k < data.columns().categorical.size(); ++k) {
    const uint64_t tokens = is_mapped ? preprocessing->tokens(k) : 0;
    const ordered_json ids = is_mapped ? ordered_json(preprocessing->schema().categorical[k].ids)
                                       : ordered_json(nullptr);
    table.rows.push_back({data.columns().categorical[k], data.columns().rows[k], ids, tokens,
                          tokens == 0 ? ordered_json(nullptr) : ordered_json(tokens)});
  }
  return table;
}

Figures InfoFigures(const DataDirectory& data, const Preprocessing* preprocessing) {
  const uint64_t bytes = BytesOf(data);
  const auto samples = static_cast<double>(data.samples());
  const auto& dense = data.columns().dense;
  Figures figures;
  const auto say = [&](const std::string& line) { figures.Append(CleanText(line) + "\n"); };
  say(fmt::format("{}: version {}, {} samples in {} blocks, {} ({:.1f} bytes a sample)",
                  data.path(), kDataVersion, CountText(samples), data.blocks(), BytesText(bytes),
                  static_cast<double>(bytes) / samples));
  say("content digest " + data.content_digest());
  ordered_json origins = ordered_json::array();
  for (const DataOrigin& origin : data.origins()) {
    origins.push_back(
        {{"file", origin.file}, {"samples", origin.samples}, {"digest", origin.digest}});
    say(fmt::format("from {}: {} samples, digest {}", origin.file,
                    CountText(static_cast<double>(origin.samples)), origin.digest));
  }
  say(data.preprocessing_digest().empty() ? "no preprocessing: the ids were made elsewhere"
                                          : "preprocessing " + data.preprocessing_digest());
  const MultiHot bags = preprocessing == nullptr ? MultiHot() : preprocessing->schema().multi_hot;
  if (bags.is_on()) {
    say(fmt::format("multi-hot bags of {} ids, {}", fmt::join(bags.sizes, ","), bags.distribution));
  }
  say(fmt::format("{} dense columns: {}", dense.size(), fmt::join(dense, ", ")));
  if (data.columns().has_weights) say("each sample has a weight");
  figures.json = {{"path", data.path()},     {"version", kDataVersion}, {"samples", data.samples()},
                  {"blocks", data.blocks()}, {"bytes", bytes},          {"dense", dense}};
  figures.Add(ColumnTable(data, preprocessing));
  figures.json["has_weights"] = data.columns().has_weights;
  figures.json["content_digest"] = data.content_digest();
  figures.json["preprocessing_digest"] = data.preprocessing_digest();
  if (bags.is_on()) {
    figures.json["multi_hot"] = {{"sizes", bags.sizes}, {"distribution", bags.distribution}};
  }
  figures.json["origins"] = std::move(origins);
  return figures;
}

Status RunInfo(const CommandLine& command_line, const std::vector<std::string>& arguments,
               const Settings& settings) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DataDirectory> data,
                   OpenDataArgument("info", arguments, settings));
  std::shared_ptr<const Preprocessing> preprocessing;
  if (Preprocessing::IsIn(data->path())) {
    ASSIGN_OR_RETURN(preprocessing, Preprocessing::Open(data->path()));
    if (preprocessing->schema().categorical.size() != data->columns().categorical.size()) {
      return UsageError("{}: its preprocessing has {} categorical columns, and the data have {}",
                        data->path(), preprocessing->schema().categorical.size(),
                        data->columns().categorical.size());
    }
  }
  return DeliverFigures(command_line.Value(kJsonFlag), InfoFigures(*data, preprocessing.get()), 1);
}

REGISTER_MEMBER(AddDataCommand(
    {"info", "DIR", "what data in the binary form are, and where they came from", &RunInfo}));

// ---- head ------------------------------------------------------------------------------------

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

// ---- verify ----------------------------------------------------------------------------------

constexpr size_t kMaxNamed = 10;  // damaged blocks in the message

Status CheckPreprocessing(const DataDirectory& data) {
  if (data.preprocessing_digest().empty()) return OkStatus();
  ASSIGN_OR_RETURN(const std::shared_ptr<const Preprocessing> preprocessing,
                   Preprocessing::Open(data.path()));
  if (preprocessing->digest() == data.preprocessing_digest()) return OkStatus();
  return UsageError(
      "{}: the preprocessing has digest {} and data.json says {}: it is that of other data",
      data.path(), preprocessing->digest(), data.preprocessing_digest());
}

// Messages of damaged blocks, by block.
Result<std::map<size_t, std::string>> FindDamage(const DataDirectory& data) {
  Mutex mutex;
  std::map<size_t, std::string> damaged;
  const Status status = ForEachOnAllCores(data.blocks(), [&](size_t block) {
    const Status checked = data.Verify(block);
    if (checked.ok() || checked.code() != StatusCode::kUsage) return checked;
    MutexLock lock(mutex);
    damaged[block] = checked.message();
    return OkStatus();
  });
  RETURN_IF_ERROR(status);
  return damaged;
}

Status RunVerify(const CommandLine& command_line, const std::vector<std::string>& arguments,
                 const Settings& settings) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const DataDirectory> data,
                   OpenDataArgument("verify", arguments, settings));
  using Damage = std::map<size_t, std::string>;
  ASSIGN_OR_RETURN(const Damage damaged, FindDamage(*data));
  if (!damaged.empty()) {
    std::vector<std::string> lines;
    for (const auto& [block, message] : damaged) {
      if (lines.size() < kMaxNamed) lines.push_back("\n  " + message);
    }
    return UsageError("{}: {} of {} blocks are damaged:{}{}", data->path(), damaged.size(),
                      data->blocks(), fmt::join(lines, ""),
                      damaged.size() > kMaxNamed ? "\n  ..." : "");
  }
  RETURN_IF_ERROR(CheckPreprocessing(*data));
  const nlohmann::ordered_json json = {{"path", data->path()},
                                       {"samples", data->samples()},
                                       {"blocks", data->blocks()},
                                       {"damaged", 0}};
  return DeliverFigures(
      command_line.Value(kJsonFlag), DumpJson(json, 1) + "\n",
      fmt::format("{}: {} samples in {} blocks, all as they were written\n", data->path(),
                  CountText(static_cast<double>(data->samples())), data->blocks()));
}

REGISTER_MEMBER(AddDataCommand(
    {"verify", "DIR", "checks every block of data in the binary form, on all cores", &RunVerify}));

}  // namespace
}  // namespace rowhouse
