#include "worker/client/pulled_rows.h"

namespace rowhouse {

Status PulledRows::Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) {
  if (worker_rows_ != nullptr) worker_rows_->Fill(rows);
  client_.StartPull(steps_, /*eval=*/true, rows, bags);
  return RunClient(client_, dialer_, clock_);
}

}  // namespace rowhouse
