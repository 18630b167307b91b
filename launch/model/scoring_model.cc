#include "launch/model/scoring_model.h"

#include <algorithm>
#include <optional>

#include "common/clean_text.h"
#include "common/counted.h"
#include "launch/hosts/host_facts.h"
#include "launch/model/last_save.h"
#include "launch/model/model_lock.h"
#include "launch/model/model_settings.h"
#include "sharding/rows/record_weights.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/matrix_product.h"

namespace rowhouse {
namespace {

// config.yaml and manifest.json are two files: somebody may have exchanged one.
Status CheckModelTables(const std::vector<TableSpec>& of_settings,
                        const std::vector<TableSpec>& of_manifest) {
  const bool are_same =
      std::ranges::equal(of_settings, of_manifest, [](const TableSpec& a, const TableSpec& b) {
        return a.name == b.name && a.rows == b.rows && a.dim == b.dim && a.precision == b.precision;
      });
  if (are_same) return OkStatus();
  return UsageError(
      "the tables of config.yaml are not those of manifest.json; put back the config.yaml that the "
      "run wrote");
}

}  // namespace

Result<std::shared_ptr<const FileLock>> UseLastSave(Settings* settings) {
  std::string& model_dir = settings->output.model_dir;
  const std::string& row_dir = settings->storage.row_dir;
  Result<std::unique_ptr<FileLock>> lock = LockModelForReading(model_dir);
  const Result<LastSave> save = FindLastSave(model_dir, row_dir, HostName());
  // With a run at work its checkpoints can be read.
  const auto refused = [&](const Status& why) {
    const bool is_at_work = !lock.ok() || why.code() == StatusCode::kUsage;
    return MakeStatus(why.code(), "--model_dir={}: {}{}", model_dir, why.message(),
                      is_at_work && HasManifest(model_dir)
                          ? "; if a run is at work on it, wait until it has ended (runs with "
                            "--save_every leave checkpoints, which can be read meanwhile)"
                          : "");
  };
  if (!save.ok()) return refused(save.status());
  LastSave last = save.value();
  if (last.directory != model_dir || last.checkpoint.empty()) {
    model_dir = last.directory;
    if (last.hold != nullptr) return last.hold;
    if (!lock.ok()) return refused(lock.status());
    return std::shared_ptr<const FileLock>(std::move(lock).value());
  }
  // The save at the end of a run, which a checkpoint of the same step stands in for while another
  // run changes the rows, or has changed them.
  const auto rows = SavedRows::Open(model_dir, row_dir);
  if (lock.ok() && rows.ok() && rows.value().CheckUnchanged().ok()) {
    return std::shared_ptr<const FileLock>(std::move(lock).value());
  }
  model_dir = CheckpointDirectory(model_dir, last.checkpoint);
  return last.hold;
}

Result<std::shared_ptr<const FileLock>> UseSave(const std::string& step, Settings* settings) {
  const std::string given = settings->output.model_dir;
  if (!step.empty() && step != "best" && step != "last") {
    return UsageError("--step={}: expected best or last", step);
  }
  const std::string model = ModelOfCheckpoint(given);
  if (!step.empty() && !model.empty()) {
    return UsageError(
        "--step={}: --model_dir={} is a checkpoint, which is one step; leave --step out, or say "
        "--model_dir={}",
        step, given, model);
  }
  // A run at work deletes the checkpoint of the best once it has made that of a better one.
  for (std::optional<uint64_t> missed;;) {
    settings->output.model_dir = given;
    ASSIGN_OR_RETURN(std::shared_ptr<const FileLock> hold, UseLastSave(settings));
    if (step == "last" || !model.empty()) return hold;
    ASSIGN_OR_RETURN(const Manifest last, ReadManifest(settings->output.model_dir));
    const std::optional<uint64_t> best = last.best_step;
    if (!best && step == "best") {
      return UsageError(
          "--step=best: the run that saved the model in {} did not validate it, so none is known "
          "to be the best (--valid_fraction validates); leave --step out",
          given);
    }
    if (!best || *best == last.steps) return hold;
    const std::string directory = CheckpointDirectory(given, *best);
    const auto refused = [&](StatusCode code, const std::string& why) {
      return MakeStatus(code,
                        "--model_dir={}: the best model by validation is that of step {}, and its "
                        "checkpoint {} {}; --step=last takes the last model, of step {}",
                        given, *best, directory, why, last.steps);
    };
    if (HasManifest(directory)) {
      Result<LastSave> save = OpenCheckpoint(given, *best, settings->storage.row_dir, HostName());
      if (save.ok() && save.value().manifest.model_id == last.model_id) {
        settings->output.model_dir = directory;
        PrintClean(stderr,
                   "takes the best model by validation, of step {}; --step=last takes the last, of "
                   "step {}\n",
                   *best, last.steps);
        return save.value().hold;
      }
      if (save.ok()) return refused(StatusCode::kUsage, "is another model's");
      if (missed == best) {
        return refused(save.status().code(), "is not whole: " + save.status().message());
      }
    } else if (missed == best) {
      return refused(StatusCode::kUsage,
                     "is not there: it was deleted, or not moved along, or found no room");
    }
    missed = best;
  }
}

Result<std::unique_ptr<ScoringModel>> ScoringModel::Open(const Settings& settings,
                                                         ModelRowsOptions rows, MlpPrecision mlp) {
  const std::string& model_dir = settings.output.model_dir;
  const auto open = [&]() -> Result<std::unique_ptr<ScoringModel>> {
    ASSIGN_OR_RETURN(SavedRows saved, SavedRows::Open(model_dir, settings.storage.row_dir));
    std::unique_ptr<ScoringModel> model(new ScoringModel(settings, std::move(saved)));
    model->mlp_ = mlp;
    RETURN_IF_ERROR(CheckSettingsToScore(settings, model_dir, model->manifest()));
    RETURN_IF_ERROR(CheckModelTables(settings.embedding.physical, model->manifest().tables));
    RETURN_IF_ERROR(model->ReadDensePart());
    rows.weights.is_frozen = settings.embedding.is_frozen;
    rows.precision = settings.model.row_precision().pull;
    rows.weights.direct_reads = settings.storage.direct_reads;
    ASSIGN_OR_RETURN(model->rows_, ModelRows::Open(model->saved_, rows));
    return model;
  };
  Result<std::unique_ptr<ScoringModel>> model = open();
  if (model.ok()) return model;
  return model.status().Annotate("--model_dir=" + model_dir);
}

Status ScoringModel::ReadDensePart() {
  ASSIGN_OR_RETURN(dense_, ReadDense(settings_.output.model_dir, manifest()));
  ForwardPass shape(settings_.model, settings_.embedding);
  const size_t parameters = shape.dense().size();
  DenseOptimizerOptions options = settings_.dense_optimizer_options();
  options.parameters = parameters;
  ASSIGN_OR_RETURN(const auto optimizer,
                   DenseOptimizers().Make(settings_.dense_optimizer(), options));
  ASSIGN_OR_RETURN(const uint64_t bytes_of_rows, saved_.BytesOnWorkers());
  const size_t due = parameters + optimizer->state().size() + bytes_of_rows / sizeof(float);
  if (dense_.size() != due) {
    return CorruptionError("{} has {} numbers, the model of config.yaml has {}",
                           manifest().dense.file, dense_.size(), due);
  }
  dense_.resize(parameters);
  return OkStatus();
}

std::unique_ptr<ForwardPass> ScoringModel::MakeForward() const {
  ModelSpec spec = settings_.model;
  if (mlp_ == MlpPrecision::kInt8) spec.dense_precision = "int8";
  if (!HasProductsOf(spec.precision())) {
    LOG_FIRST_N(WARNING, 1) << "dense_precision=" << spec.dense_precision
                            << " needs AVX-512, which this CPU has not: the model is scored in f32";
    spec.dense_precision = "f32";
  }
  auto forward = std::make_unique<ForwardPass>(spec, settings_.embedding);
  const std::span<float> values = forward->dense().values();
  std::ranges::copy(dense_, values.begin());
  if (mlp_ == MlpPrecision::kF16) {
    for (const DlrmModel::LayerView& layer : forward->model().layers()) {
      RoundNumbers(Precision::kF16, values.subspan(layer.weights, size_t{layer.in} * layer.out));
    }
  }
  rows_->ServeTo(&forward->embedding());
  return forward;
}

std::string ScoringModel::Describe() const {
  constexpr std::string_view kMlpTexts[] = {"", ", MLPs in f16", ", MLPs in 8 bits"};
  return fmt::format("the model in {} after {}: {}{}, {}", settings_.output.model_dir,
                     Counted(manifest().steps, "step"), rows_->Describe(),
                     kMlpTexts[static_cast<size_t>(mlp_)], ModelDigestText(manifest()));
}

}  // namespace rowhouse
