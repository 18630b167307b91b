// PulledRows: the rows of a running job as a RowSource: pulled from its shards, or copied from this
// worker where the plan keeps rows on the workers.
#pragma once

#include <cstdint>
#include <vector>

#include "common/clock.h"
#include "common/transport/transport.h"
#include "worker/client/ps_client.h"
#include "worker/embedding/row_source.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {

class PulledRows final : public RowSource {
 public:
  // Rows as they are after `steps` steps. `worker_rows`: null if the plan keeps none on the
  // workers. All outlive this. `client` has no pull under way when Read is called.
  PulledRows(PsClient& client, Dialer& dialer, const Clock& clock, const WorkerRows* worker_rows,
             uint64_t steps)
      : client_(client), dialer_(dialer), clock_(clock), worker_rows_(worker_rows), steps_(steps) {}

  // Errors are those of RunClient.
  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) override;

 private:
  PsClient& client_;
  Dialer& dialer_;
  const Clock& clock_;
  const WorkerRows* const worker_rows_;
  const uint64_t steps_;
};

}  // namespace rowhouse
