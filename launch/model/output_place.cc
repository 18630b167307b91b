#include "launch/model/output_place.h"

#include <algorithm>
#include <filesystem>

#include "common/output_path.h"
#include "launch/model/last_save.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

bool Has(const fs::path& folder, const char* file) {
  std::error_code ignored;
  return fs::exists(folder / file, ignored);
}

// A row directory has nothing but those of its shards.
bool HoldsShards(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("shard-") && Has(at->path(), "OWNER.json")) {
      return true;
    }
  }
  return false;
}

// "": none of ours.
std::string KindOf(const fs::path& folder) {
  if (Has(folder, "manifest.json") && Has(folder, "config.yaml")) return "model";
  if (!CheckpointsOf(folder.string()).empty()) return "model";
  if (Has(folder, "OWNER.json")) return "row";
  if (Has(folder, "data.json") && Has(folder, "samples.bin")) return "data";
  return "";
}

Status Refuse(const std::string& path, std::string_view kind, const fs::path& directory) {
  return UsageError("{} lies in the {} directory {}, where it might replace a file; name another",
                    path, kind, directory.string());
}

}  // namespace

Status CheckOutsideModels(const std::string& path, const std::vector<std::string>& own) {
  if (path.empty() || path == "-" || IsWrittenThrough(path)) return OkStatus();
  std::error_code error;
  const fs::path place = fs::weakly_canonical(ReplacedFile(path), error);
  if (error) return OkStatus();  // Whoever writes there says why it cannot be.
  if (HoldsShards(place.parent_path())) return Refuse(path, "row", place.parent_path());
  std::vector<fs::path> mine;
  for (const std::string& one : own) {
    if (!one.empty()) mine.push_back(fs::weakly_canonical(one, error));
  }
  for (fs::path folder = place; folder.has_relative_path();) {
    folder = folder.parent_path();
    const std::string kind = KindOf(folder);
    if (!kind.empty()) return Refuse(path, kind, folder);
    if (std::ranges::count(mine, folder) > 0) return Refuse(path, "run's own", folder);
  }
  return OkStatus();
}

}  // namespace rowhouse
