#include "worker/train/evaluator.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "worker/embedding/row_batch.h"
#include "worker/embedding/slices.h"
#include "worker/embedding/worker_rows.h"
#include "worker/mpi/agreement.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {

namespace {

// The rows of a running job as a RowSource: pulled from its shards, or copied from this
// worker where the plan keeps rows on the workers.
class JobRows final : public RowSource {
 public:
  // Rows as they are after `steps` steps. `worker_rows`: null if the plan keeps none on the
  // workers. All outlive this. `client` has no pull under way when Read is called.
  JobRows(PsClient& client, Dialer& dialer, const Clock& clock, const WorkerRows* worker_rows,
          uint64_t steps)
      : client_(client), dialer_(dialer), clock_(clock), worker_rows_(worker_rows), steps_(steps) {}

  // Errors are those of RunClient.
  Status Read(std::vector<RowBatch>* rows, std::vector<BagBatch>* bags) override {
    if (worker_rows_ != nullptr) worker_rows_->Fill(rows);
    client_.StartPull(steps_, /*eval=*/true, rows, bags);
    return RunClient(client_, dialer_, clock_);
  }

 private:
  PsClient& client_;
  Dialer& dialer_;
  const Clock& clock_;
  const WorkerRows* const worker_rows_;
  const uint64_t steps_;
};

// Their sum over all samples does not depend on how workers divide the samples. Labels alone: which
// columns a model sees of a sample does not make it another one.
uint64_t DigestOfSample(uint64_t index, float label) {
  return XXH3_64bits_withSeed(&label, sizeof(label), index);
}

uint64_t SamplesOf(Scored of, const Dataset& data) {
  return of == Scored::kTest ? data.test_samples() : data.valid_samples();
}

// Collective: the values of all workers, in rank order.
template <typename T>
Result<std::vector<T>> AllOf(const std::vector<T>& mine, Communicator& workers,
                             const std::string& phase) {
  ASSIGN_OR_RETURN(const std::vector<std::vector<std::byte>> all,
                   workers.AllGather(std::as_bytes(std::span(mine)), phase));
  std::vector<T> values;
  for (const std::vector<std::byte>& bytes : all) {
    const size_t before = values.size();
    CHECK_EQ(bytes.size() % sizeof(T), 0u);
    values.resize(before + bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data() + before, bytes.data(), bytes.size());
  }
  return values;
}

}  // namespace

Evaluator::Evaluator(uint64_t batch_size, Dataset& data, TrainingStep& step, PsClient& client,
                     Dialer& dialer, Communicator& workers, const Clock& clock)
    : batch_size_(batch_size),
      data_(data),
      step_(step),
      client_(client),
      dialer_(dialer),
      workers_(workers),
      clock_(clock) {
  CHECK_GT(batch_size, 0u);
}

Status Evaluator::Score(Scored of, uint64_t steps, Scores* mine) {
  JobRows rows(client_, dialer_, clock_, step_.rows(), steps);
  Scorer scorer(step_.forward(), rows);
  const uint64_t total = SamplesOf(of, data_);
  for (uint64_t first = 0; first < total; first += batch_size_) {
    const uint64_t samples = std::min(batch_size_, total - first);
    const SampleSlice slice = SliceOf(samples, workers_.size(), workers_.rank());
    RETURN_IF_ERROR(of == Scored::kTest
                        ? data_.ReadTest(first + slice.first, slice.count, &batch_)
                        : data_.ReadValid(first + slice.first, slice.count, &batch_));
    const std::string name = fmt::format(
        "evaluation after {} steps (batch {}, {} samples from {})", steps, first / batch_size_,
        of == Scored::kTest ? "test" : "validation", first + slice.first);
    ASSIGN_OR_RETURN(const std::span<const float> predictions, scorer.Score(batch_, name));
    mine->scores.insert(mine->scores.end(), predictions.begin(), predictions.end());
    mine->labels.insert(mine->labels.end(), batch_.labels.begin(), batch_.labels.end());
    for (size_t i = 0; i < batch_.samples; ++i) {
      mine->data_digest += DigestOfSample(first + slice.first + i, batch_.labels[i]);
    }
  }
  return OkStatus();
}

Result<Evaluation> Evaluator::ScoreAndGather(Scored of, uint64_t steps, bool* is_failure_agreed) {
  Scores mine;
  RETURN_IF_ERROR(AgreeIfPossible(workers_, Score(of, steps, &mine),
                                  fmt::format("step {}, evaluation", steps), is_failure_agreed));
  return OfAll(of, steps, mine);
}

Result<Evaluation> Evaluator::OfAll(Scored of, uint64_t steps, const Scores& mine) {
  const std::string phase = fmt::format("step {}, evaluation", steps);
  ASSIGN_OR_RETURN(const std::vector<float> scores, AllOf(mine.scores, workers_, phase));
  ASSIGN_OR_RETURN(const std::vector<float> labels, AllOf(mine.labels, workers_, phase));
  ASSIGN_OR_RETURN(const std::vector<uint64_t> digests,
                   AllOf(std::vector{mine.data_digest}, workers_, phase));
  Evaluation evaluation{
      .step = steps,
      .of = of,
      .samples = labels.size(),
      .metrics = ComputeMetrics(labels, scores),
      .data_digest = std::accumulate(digests.begin(), digests.end(), uint64_t{0})};
  if (scores.size() > 1 &&
      std::ranges::count(scores, scores.front()) == static_cast<std::ptrdiff_t>(scores.size())) {
    evaluation.only_prediction = scores.front();
  }
  return evaluation;
}

Result<Evaluation> Evaluator::Evaluate(Scored of, uint64_t steps, bool* is_failure_agreed) {
  const TimeNs start = clock_.NowNs();
  Result<Evaluation> evaluation = ScoreAndGather(of, steps, is_failure_agreed);
  seconds_ += SecondsSince(start, clock_);
  return evaluation;
}

}  // namespace rowhouse
