// ScoringModel: a saved model ready to score: its dense part and its rows.
//
// Threads: const after Open; each thread makes a ForwardPass of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/file_lock.h"
#include "common/status.h"
#include "launch/model/model_rows.h"
#include "launch/model/saved_rows.h"
#include "launch/settings/settings.h"
#include "worker/train/forward_pass.h"

namespace rowhouse {

// Makes the last save of the model in settings->output.model_dir (launch/model/last_save.h) the
// model directory: of a model that is being trained, or whose run was killed, its newest whole
// checkpoint. As long as what is returned is held, no run deletes or changes that save. kUsage if
// there is none, or if a run is at work that has left none yet.
Result<std::shared_ptr<const FileLock>> UseLastSave(Settings* settings);

// Makes the save that is asked for by --step the model directory, and holds it likewise. `step`:
// "last": UseLastSave. "best": the checkpoint of the best model by validation of the run that made
// the last save. "": the best where that run validated, which a line on stderr says, else the last.
// kUsage if the best is asked for and there was no validation; if its checkpoint is not there: the
// last does not take its place unasked; or for a `step` of a checkpoint's directory, which is one
// step. kCorruption if it is damaged.
Result<std::shared_ptr<const FileLock>> UseSave(const std::string& step, Settings* settings);

// What the weights of the two MLPs are rounded to before they score.
enum class MlpPrecision {
  kAsTrained,  // dense_precision
  kF16,        // the nearest f16, multiplied in f32
  kInt8,       // 8 bits with products of integers (worker/dense/int8_layer.h)
};

class ScoringModel {
 public:
  // Opens the model in settings.output.model_dir, whose settings these are. kUsage if there is
  // none, if a run has its rows open or left them so, or if the settings are another model's;
  // kCorruption for damaged files. `rows.weights.is_frozen` and `rows.precision` are filled in.
  static Result<std::unique_ptr<ScoringModel>> Open(const Settings& settings, ModelRowsOptions rows,
                                                    MlpPrecision mlp = MlpPrecision::kAsTrained);

  // With the model's dense parameters; lookups of tables in memory read these.
  std::unique_ptr<ForwardPass> MakeForward() const;

  ModelRows& rows() const { return *rows_; }
  const Manifest& manifest() const { return saved_.manifest(); }
  // "the model in DIR after 1200 steps: 26 tables in memory (2.05 GiB), model digest <hex>"
  std::string Describe() const;

 private:
  ScoringModel(const Settings& settings, SavedRows saved)
      : settings_(settings), saved_(std::move(saved)) {}
  Status ReadDensePart();

  const Settings& settings_;
  const SavedRows saved_;
  MlpPrecision mlp_ = MlpPrecision::kAsTrained;
  std::vector<float> dense_;
  std::unique_ptr<ModelRows> rows_;
};

}  // namespace rowhouse
