#include "launch/hosts/shared_directory.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <span>

#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

// A new file; "": none can be made.
std::string MakeFileIn(std::filesystem::path directory) {
  std::error_code ignored;
  directory = std::filesystem::absolute(directory, ignored).lexically_normal();
  while (directory.has_relative_path() && !std::filesystem::is_directory(directory, ignored)) {
    directory = directory.parent_path();
  }
  std::string path = (directory / ".rowhouse_seen_by_all_XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return "";
  close(file);
  return path;
}

}  // namespace

Result<bool> DoAllSee(const std::string& directory, Communicator& ranks) {
  constexpr const char* kPhase = "looking for directories that all hosts see";
  const bool is_first = Raw(ranks.rank()) == 0;
  const std::string made = is_first ? MakeFileIn(directory) : "";
  const Result<std::string> path = BroadcastFromFirst(ranks, made, kPhase);
  std::error_code ignored;
  const bool sees =
      path.ok() && !path.value().empty() && std::filesystem::exists(path.value(), ignored);
  const auto all = ranks.AllGather(std::as_bytes(std::span(&sees, 1)), kPhase);
  if (!made.empty()) std::filesystem::remove(made, ignored);
  RETURN_IF_ERROR(path.status());
  RETURN_IF_ERROR(all.status());
  return std::ranges::all_of(all.value(), [](const auto& one) { return one[0] != std::byte{0}; });
}

}  // namespace rowhouse
