// DenseOptimizer: how the summed gradient of the two MLPs changes their parameters. Every worker
// runs it on the same numbers, so the replicas stay equal bit for bit.
//
// Exactness: elementwise f32, no contraction: the same bits on every instruction set.
// Threads:   one.
// To add one, write worker/dense/optimizers/<name>.cc; it registers itself here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/registry.h"
#include "sharding/rows/optimizer_options.h"

namespace rowhouse {

struct DenseOptimizerOptions {
  size_t parameters = 0;  // floats it is made for
  OptimizerOptions options;
  double learning_rate_factor = 1.0;  // times the rate of the run; [0, inf)

  const OptionValues& own_options() const { return options.own; }
};

class DenseOptimizer {
 public:
  virtual ~DenseOptimizer() = default;

  // One step, counted from 0 over all runs of the model. `learning_rate` is the run's, already
  // scheduled. Requires gradients.size() == parameters.size() == options.parameters.
  void Apply(float learning_rate, uint64_t step, std::span<const float> gradients,
             std::span<float> parameters);

  // What a checkpoint keeps beside the parameters, and writes back here; may be empty. Holds
  // initial values before the first Apply().
  virtual std::span<float> state() = 0;

 protected:
  explicit DenseOptimizer(const DenseOptimizerOptions& options) : options_(options) {}

  const OptimizerOptions& options() const { return options_.options; }
  // With L2: the gradients plus weight_decay times the parameters. Good until the next call.
  std::span<const float> Decayed(std::span<const float> gradients,
                                 std::span<const float> parameters);

 private:
  // The rate is that of the dense part; sizes are right.
  virtual void Update(float learning_rate, uint64_t step, std::span<const float> gradients,
                      std::span<float> parameters) = 0;

  const DenseOptimizerOptions options_;
  std::vector<float> decayed_;
};

// Some row optimizers exist for rows only. A dense optimizer is registered under their names, too:
// adagrad as rowwise_adagrad, as in DLRM, and as ftrl, as in Wide & Deep (Cheng et al., 2016); adam
// as lazy_adam, as SparseAdam is used. Other row optimizers name their dense optimizer when they
// register (AddOptimizer).
struct DenseOptimizerDeclaration {
  float weight_decay = 0;  // where no setting says otherwise
};
Registry<DenseOptimizer, DenseOptimizerOptions, DenseOptimizerDeclaration>& DenseOptimizers();

// Registers a Member, whose kTakes lists the shared options that it takes. `own`: the options that
// it declares itself; one named "decay" is `optimizer_decay` of the run. If the row optimizer of
// this name declares it, too (sharding/rows/optimizer.h), both are one option.
template <typename Member>
bool AddDenseOptimizer(const std::string& name, std::vector<DeclaredOption> own = {},
                       DenseOptimizerDeclaration declaration = {}) {
  return DenseOptimizers().Add(
      name,
      [name](const DenseOptimizerOptions& options) -> Result<std::unique_ptr<DenseOptimizer>> {
        RETURN_IF_ERROR(CheckTaken(name, options.options, Member::kTakes));
        return std::unique_ptr<DenseOptimizer>(std::make_unique<Member>(options));
      },
      std::move(own), declaration);
}

}  // namespace rowhouse
