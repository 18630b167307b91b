#include "launch/run/best_test.h"

#include <algorithm>
#include <vector>

#include "launch/model/scoring_model.h"
#include "launch/run/run_outcome.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {
namespace {

Result<Evaluation> TestCheckpoint(const WorkerSetup& setup, const std::string& directory,
                                  Dataset& data) {
  // Caches of PS nodes and rows on workers have most of the memory: larger tables are read from the
  // checkpoint's files.
  constexpr uint64_t kRowsBytes = uint64_t{256} << 20;
  constexpr uint64_t kSamplesOfPiece = 4096;
  constexpr size_t kSliceSamples = 256;
  // The other workers wait for so long (SavingDeadlineMs), for this and for the rows' digest.
  const TimeMs until = setup.clock.NowMs() + setup.settings.cluster.save_deadline_ms / 2;
  Settings settings = setup.settings;
  settings.output.model_dir = directory;
  ModelRowsOptions rows;
  rows.memory_bytes = kRowsBytes;
  ASSIGN_OR_RETURN(const auto model, ScoringModel::Open(settings, rows));
  const auto forward = model->MakeForward();
  Scorer scorer(*forward, model->rows(), kSliceSamples);
  Batch batch;
  std::vector<float> scores, labels;
  for (uint64_t first = 0; first < data.test_samples(); first += kSamplesOfPiece) {
    if (setup.stop.load() || setup.clock.NowMs() >= until) {
      return MakeStatus(
          StatusCode::kDeadlineExceeded, "{}",
          setup.stop.load() ? "the run was told to stop" : "it took half of save_deadline_ms");
    }
    const uint64_t count = std::min(kSamplesOfPiece, data.test_samples() - first);
    RETURN_IF_ERROR(data.ReadTest(first, count, &batch));
    ASSIGN_OR_RETURN(
        const auto of_piece,
        scorer.Score(batch, fmt::format("test of {}, samples from {}", directory, first)));
    scores.insert(scores.end(), of_piece.begin(), of_piece.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return Evaluation{.step = model->manifest().steps,
                    .samples = labels.size(),
                    .metrics = ComputeMetrics(labels, scores)};
}

}  // namespace

std::string TestBest(const WorkerSetup& setup, const TrainingSummary& summary,
                     const Evaluation& last, Dataset& data, RunReport::Best* best) {
  if (data.test_samples() == 0 || summary.was_told_to_stop) return "";
  const bool is_last = best->step == summary.steps_done;
  if (!is_last && best->checkpoint.empty()) return "";
  const Result<Evaluation> tested = is_last ? last : TestCheckpoint(setup, best->checkpoint, data);
  if (!tested.ok()) return tested.status().message();
  const RunReport::Evaluation figures = Reported(tested.value());
  best->test_auc = figures.auc;
  best->test_logloss = figures.logloss;
  return "";
}

}  // namespace rowhouse
