#include "ps/store/replaced_rows.h"

#include <filesystem>

namespace rowhouse {
namespace {

std::string AsideOf(const std::string& directory) { return directory + ".replaced"; }

Status Delete(const std::string& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  if (error) return UsageError("cannot delete {}: {}", directory, error.message());
  return OkStatus();
}

Status Move(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::rename(from, to, error);
  if (error) return UsageError("cannot rename {} to {}: {}", from, to, error.message());
  return OkStatus();
}

}  // namespace

bool HasReplacedRows(const std::string& directory) {
  std::error_code ignored;
  return std::filesystem::exists(AsideOf(directory), ignored);
}

Status SetAsideRows(const std::string& directory) { return Move(directory, AsideOf(directory)); }

Status PutBackReplacedRows(const std::string& directory) {
  RETURN_IF_ERROR(Delete(directory));
  return Move(AsideOf(directory), directory);
}

Status DeleteReplacedRows(const std::string& directory) { return Delete(AsideOf(directory)); }

}  // namespace rowhouse
