#include "ps/store/readable_places.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace rowhouse {
namespace {

// Without links, dots and a slash at its end. What does not exist keeps its name.
std::filesystem::path Plain(const std::string& path) {
  std::error_code error;
  std::filesystem::path plain = std::filesystem::absolute(path, error).lexically_normal();
  std::filesystem::path real = std::filesystem::weakly_canonical(plain, error);
  if (!error) plain = std::move(real);
  return plain.has_filename() ? plain : plain.parent_path();
}

}  // namespace

ReadablePlaces::ReadablePlaces(const std::string& row_dir, const std::vector<std::string>& others)
    : is_everywhere_(false), directories_(others) {
  if (!row_dir.empty()) directories_.insert(directories_.begin(), row_dir);
}

Status ReadablePlaces::Check(const std::string& path) const {
  if (is_everywhere_) return OkStatus();
  const std::filesystem::path wanted = Plain(path);
  for (const std::string& directory : directories_) {
    const std::filesystem::path place = Plain(directory);
    if (std::mismatch(place.begin(), place.end(), wanted.begin(), wanted.end()).first ==
        place.end()) {
      return OkStatus();
    }
  }
  return UsageError(
      "this PS node reads files for a job only below its row directory and its --read_dirs ({}), "
      "and {} is elsewhere; start rowhouse ps with --read_dirs=DIRECTORY",
      directories_.empty() ? "it has none" : fmt::format("{}", fmt::join(directories_, ", ")),
      path);
}

}  // namespace rowhouse
