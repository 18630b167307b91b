#include "common/kill_point.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/nearest_name.h"

namespace rowhouse {
namespace {

constexpr const char* kVariable = "ROWHOUSE_KILL_POINT";

constexpr std::string_view kNames[] = {
    "checkpoint.deleted",
    "checkpoint.unnamed",
    "compact.begun",
    "compact.settled",
    "compact.shard_done",
    "copy.file_copied",
    "delta.added_to",
    "delta.before_rename",
    "delta.deleted",
    "delta.made",
    "directory.before_sync",
    "end.model_saved",
    "end.rows_flushed",
    "file.before_directory_sync",
    "file.before_name",
    "file.before_replacing",
    "journal.before_sync",
    "journal.open",
    "kept.cut",
    "kept.linked",
    "link.before_replacing",
    "log.before_sync",
    "log.begun",
    "model.before_manifest",
    "model.dense_written",
    "model.files_noted",
    "model.locked",
    "model.saved",
    "move.before_ingest",
    "move.file_made",
    "move.ingested",
    "move.settled",
    "moved.before_end",
    "moved.before_rename",
    "moved.before_seal",
    "moved.claimed",
    "moved.linked",
    "part.before_cut",
    "part.before_rename",
    "part.before_state",
    "part.cut",
    "part.deleted",
    "part.delta_linked",
    "part.made",
    "replaced.before_put_back",
    "replaced.deleted",
    "replaced.parts_deleted",
    "replaced.set_aside",
    "reshard.rows_moved",
    "restored.before_rename",
    "restored.deltas_put",
    "restored.in_place",
    "restored.state_written",
    "save.before_deletion_of_parts",
    "save.before_rename",
    "save.marked",
    "save.parts_made",
    "save.whole",
    "shard.before_clean",
    "shard.before_open",
    "shard.clean",
    "shard.open",
    "shard.rows_put",
};

struct Wanted {
  std::string_view name;
  uint64_t time = 0;
};

// nullopt: not set, or not as it should be, which CheckKillPoint says.
std::optional<Wanted> Read() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  const std::string_view value(text);
  const size_t colon = value.rfind(':');
  if (colon == value.npos) return std::nullopt;
  Wanted wanted{.name = value.substr(0, colon)};
  const char* const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data() + colon + 1, end, wanted.time);
  if (error != std::errc() || at != end || wanted.time == 0) return std::nullopt;
  return wanted;
}

[[noreturn]] void End(const Wanted& wanted) {
  const std::string words = fmt::format("kill point {}:{}\n", wanted.name, wanted.time);
  (void)!::write(STDERR_FILENO, words.data(), words.size());
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

}  // namespace

void KillPoint(std::string_view name) {
  static const std::optional<Wanted> wanted = Read();
  if (!wanted || wanted->name != name) return;
  static std::atomic<uint64_t> times = 0;
  if (++times == wanted->time) End(*wanted);
}

std::span<const std::string_view> KillPointNames() { return kNames; }

Status CheckKillPoint() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return OkStatus();
  const std::optional<Wanted> wanted = Read();
  if (!wanted) {
    return UsageError("{}={} is not a name and a time, as in {}:1", kVariable, text, kNames[0]);
  }
  if (std::ranges::count(kNames, wanted->name) > 0) return OkStatus();
  return UsageError("{}={}: there is no such point {}", kVariable, text,
                    DescribeKnownNames(wanted->name, std::vector<std::string>(std::begin(kNames),
                                                                              std::end(kNames))));
}

}  // namespace rowhouse
