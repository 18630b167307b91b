// Evaluator: scores the samples for validation or for tests with the model as it is between two
// steps.
//
// Every worker scores its range of each batch, by numpy's array_split rule; then all have the
// predictions of all. Time is that of the Clock. Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "worker/client/ps_client.h"
#include "worker/data/dataset.h"
#include "worker/data/metrics.h"
#include "worker/mpi/communicator.h"
#include "worker/train/training_step.h"

namespace rowhouse {

// Which samples are scored: those that choose among models, those that choose nothing, or those of
// the last steps, each before it was trained on (progressive validation: Blum, Kalai and Langford,
// 1999, "Beating the hold-out").
enum class Scored { kValid, kTest, kProgressive };

struct Evaluation {
  uint64_t step = 0;  // steps done when it was made
  Scored of = Scored::kTest;
  uint64_t samples = 0;
  Metrics metrics;
  // The prediction, if it is the same for all samples, of which there are two or more.
  std::optional<float> only_prediction = std::nullopt;
  // Of the labels of all samples, in their order. It depends neither on the number of workers
  // nor on the columns that the model sees: runs with different digests were tested on different
  // samples.
  uint64_t data_digest = 0;
};

class Evaluator {
 public:
  // All references outlive the object. `batch_size`: samples of a batch over all workers, > 0.
  Evaluator(uint64_t batch_size, Dataset& data, TrainingStep& step, PsClient& client,
            Dialer& dialer, Communicator& workers, const Clock& clock);

  // Collective: all workers return the same evaluation. `steps`: done so far. A failure of model or
  // data (kUsage, kInternal) is returned by all workers; then *is_failure_agreed.
  Result<Evaluation> Evaluate(Scored of, uint64_t steps, bool* is_failure_agreed);

  // This worker's predictions, and their samples.
  struct Scores {
    std::vector<float> scores, labels;
    uint64_t data_digest = 0;
  };
  // Collective: the evaluation of what all workers have, in rank order.
  Result<Evaluation> OfAll(Scored of, uint64_t steps, const Scores& mine);

  // Of all calls of Evaluate so far.
  double seconds() const { return seconds_; }
  // Memory of samples that were read.
  size_t sample_bytes() const { return batch_.bytes(); }

 private:
  Status Score(Scored of, uint64_t steps, Scores* mine);
  Result<Evaluation> ScoreAndGather(Scored of, uint64_t steps, bool* is_failure_agreed);

  const uint64_t batch_size_;
  Dataset& data_;
  TrainingStep& step_;
  PsClient& client_;
  Dialer& dialer_;
  Communicator& workers_;
  const Clock& clock_;

  Batch batch_;
  double seconds_ = 0.0;
};

}  // namespace rowhouse
