#include "ps/shard/restored_part.h"

#include <glog/logging.h>

#include <filesystem>

#include "common/kill_point.h"
#include "ps/store/rows_with_deltas.h"
#include "ps/store/written_rows_file.h"

namespace rowhouse {

Status PutDeltasIntoCopy(const std::string& part, const std::string& directory,
                         const std::string& checksum, const std::string& store,
                         const RowStoreOptions& options, OpeningProgress& progress) {
  ASSIGN_OR_RETURN(DirectoryState state, ReadState(directory));
  if (state.deltas.empty()) return OkStatus();
  const std::string saved_stamp = state.stamp;
  {
    DirectoryState without = state;
    without.deltas.clear();
    ASSIGN_OR_RETURN(const auto rows, OpenRowsOf(directory, without, store, options));
    RETURN_IF_ERROR(PutDeltas(part, state.deltas, *rows, progress));
    KillPoint("restored.deltas_put");
    state.stamp = rows->stamp();
  }
  // The set has the rows of delta files already; only the store has another stamp now.
  const Status restamped =
      RestampWrittenRows(directory + kWrittenRowsFile, saved_stamp, state.stamp);
  LOG_IF(WARNING, !restamped.ok())
      << "all rows of " << directory << " have to be scanned: " << restamped.message();
  state.deltas.clear();
  state.routed_from = checksum;
  RETURN_IF_ERROR(WriteState(directory, state));
  KillPoint("restored.state_written");
  std::error_code ignored;  // Nobody reads them; the first save of the run deletes them.
  std::filesystem::remove_all(DeltaDirectory(directory), ignored);
  return OkStatus();
}

}  // namespace rowhouse
