// rowhouse data verify DIR: checks every block, its checksum and each value, and the preprocessing.
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/mutex.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"
#include "launch/figures/json_output.h"
#include "worker/data/mapping/preprocessing.h"

namespace rowhouse {
namespace {

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
