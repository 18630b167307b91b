#include "ps/store/replaced_rows.h"

#include <filesystem>

#include "common/durable_file.h"
#include "common/kill_point.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/directory_state.h"

namespace rowhouse {
namespace {

std::string AsideOf(const std::string& directory) { return directory + ".replaced"; }
std::string SupersededOf(const std::string& directory) { return directory + ".superseded"; }

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

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

bool HasReplacedRows(const std::string& directory) { return Exists(AsideOf(directory)); }

std::string FindRows(const std::string& directory, const std::string& model, ShardId shard) {
  const Result<DirectoryOwner> aside = ReadOwner(AsideOf(directory));
  const bool are_aside = aside.ok() && aside.value().model == model && aside.value().shard == shard;
  const bool are_replaced = ReadState(directory).status().code() != StatusCode::kNotFound;
  return are_aside && !are_replaced ? AsideOf(directory) : directory;
}

Status SetAsideRows(const std::string& directory) {
  RETURN_IF_ERROR(Move(directory, AsideOf(directory)));
  KillPoint("replaced.set_aside");
  return OkStatus();
}

Status PutBackReplacedRows(const std::string& directory) {
  RETURN_IF_ERROR(Delete(directory));
  KillPoint("replaced.before_put_back");
  return Move(AsideOf(directory), directory);
}

std::string CopyOf(const std::string& directory) { return directory + ".restored"; }

Status SupersedeRows(const std::string& directory) {
  if (Exists(directory)) {
    // What a run left that changed no row is a copy of a checkpoint.
    RETURN_IF_ERROR(Exists(SupersededOf(directory)) ? Delete(directory)
                                                    : Move(directory, SupersededOf(directory)));
  }
  KillPoint("restored.before_rename");
  RETURN_IF_ERROR(RenameDurably(CopyOf(directory), directory));
  KillPoint("restored.in_place");
  return OkStatus();
}

Status DeleteReplacedRows(const std::string& directory) {
  const Result<DirectoryOwner> replaced = ReadOwner(AsideOf(directory)),
                               mine = ReadOwner(directory);
  if (replaced.ok() && mine.ok() && replaced.value().model != mine.value().model) {
    // Before the rows: a cut-off deletion is done again.
    ASSIGN_OR_RETURN(const auto parts, PartsOf(replaced.value(), directory));
    RETURN_IF_ERROR(DeleteParts(parts, replaced.value(), directory));
    KillPoint("replaced.parts_deleted");
  }
  RETURN_IF_ERROR(Delete(AsideOf(directory)));
  KillPoint("replaced.deleted");
  return Delete(SupersededOf(directory));
}

}  // namespace rowhouse
