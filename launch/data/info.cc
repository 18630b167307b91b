// rowhouse data info DIR: what data in the binary form are, and where they came from.
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "common/clean_text.h"
#include "common/json_text.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"
#include "launch/figures/text_table.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

using nlohmann::ordered_json;

uint64_t BytesOf(const DataDirectory& data) {
  const BlockPlace& last = data.description().blocks.back();
  return last.offset + last.bytes;
}

ordered_json InfoJson(const DataDirectory& data, const Preprocessing* preprocessing) {
  const DataColumns& columns = data.columns();
  ordered_json categorical = ordered_json::array(), origins = ordered_json::array();
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    categorical.push_back({{"name", columns.categorical[k]}, {"rows", columns.rows[k]}});
    if (preprocessing == nullptr) continue;
    categorical.back()["ids"] = preprocessing->schema().categorical[k].ids;
    categorical.back()["tokens"] = preprocessing->tokens(k);
  }
  for (const DataOrigin& origin : data.origins()) {
    origins.push_back(
        {{"file", origin.file}, {"samples", origin.samples}, {"digest", origin.digest}});
  }
  return {{"path", data.path()},
          {"version", kDataVersion},
          {"samples", data.samples()},
          {"blocks", data.blocks()},
          {"bytes", BytesOf(data)},
          {"dense", columns.dense},
          {"categorical", std::move(categorical)},
          {"has_weights", columns.has_weights},
          {"content_digest", data.content_digest()},
          {"preprocessing_digest", data.preprocessing_digest()},
          {"origins", std::move(origins)}};
}

std::string ColumnFacts(const DataDirectory& data, const Preprocessing* preprocessing) {
  TextTable table = {.columns = {{"categorical column"}, {"rows", true}, {"ids"}, {"tokens", true}},
                     .rows = {}};
  const DataColumns& columns = data.columns();
  for (size_t k = 0; k < columns.categorical.size(); ++k) {
    const bool is_mapped = preprocessing != nullptr;
    const std::string ids = is_mapped ? preprocessing->schema().categorical[k].ids : "-";
    const uint64_t tokens = is_mapped ? preprocessing->tokens(k) : 0;
    table.rows.push_back({columns.categorical[k], CountText(static_cast<double>(columns.rows[k])),
                          ids, tokens == 0 ? "-" : CountText(static_cast<double>(tokens))});
  }
  return TableAsText(table);
}

std::string InfoText(const DataDirectory& data, const Preprocessing* preprocessing) {
  const auto bytes = static_cast<double>(BytesOf(data));
  const auto samples = static_cast<double>(data.samples());
  std::vector<std::string> lines = {
      fmt::format("{}: version {}, {} samples in {} blocks, {} ({:.1f} bytes a sample)",
                  data.path(), kDataVersion, CountText(samples), data.blocks(), BytesText(bytes),
                  bytes / samples),
      "content digest " + data.content_digest()};
  for (const DataOrigin& origin : data.origins()) {
    lines.push_back(fmt::format("from {}: {} samples, digest {}", origin.file,
                                CountText(static_cast<double>(origin.samples)), origin.digest));
  }
  lines.push_back(data.preprocessing_digest().empty()
                      ? "no preprocessing: the ids were made elsewhere"
                      : "preprocessing " + data.preprocessing_digest());
  lines.push_back(fmt::format("{} dense columns: {}", data.columns().dense.size(),
                              fmt::join(data.columns().dense, ", ")));
  if (data.columns().has_weights) lines.push_back("each sample has a weight");
  std::string text;
  for (const std::string& line : lines) text += CleanText(line) + "\n";
  return text + ColumnFacts(data, preprocessing);
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
  return DeliverFigures(command_line.Value(kJsonFlag),
                        DumpJson(InfoJson(*data, preprocessing.get()), 1) + "\n",
                        InfoText(*data, preprocessing.get()));
}

REGISTER_MEMBER(AddDataCommand(
    {"info", "DIR", "what data in the binary form are, and where they came from", &RunInfo}));

}  // namespace
}  // namespace rowhouse
