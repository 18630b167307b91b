// OptimizerOptions: what optimizers take besides the learning rate: options that several of them
// share, and options that a member declares in its own file (common/declared_option.h).
// OptimizerOptionFields() lists the shared ones; JSON, YAML, flags and checks all use this list.
//
// Threads: plain data; any.
#pragma once

#include <span>
#include <string_view>

#include "common/declared_option.h"
#include "common/status.h"

namespace rowhouse {

struct OptimizerOptions {
  float epsilon = 0.0f;              // added after the root; 0: the optimizer's own (epsilon_or)
  float initial_accumulator = 0.0f;  // initial value of squared-gradient sums (Adagrads, FTRL)
  float learning_rate_decay = 0.0f;  // Adagrads: rate / (1 + (t - 1) * this), t = step + 1
  float weight_decay = 0.0f;         // added to the gradient times the weight (L2); not FTRL's
  float momentum = 0.9f;             // momentum: [0, 1)
  float beta1 = 0.9f;                // Adams: of the mean, [0, 1)
  float beta2 = 0.999f;              // Adams: of the mean square, [0, 1)
  float l1 = 0.0f;                   // FTRL: pulls weights to exactly 0
  float l2 = 0.0f;                   // FTRL
  float beta = 1.0f;                 // FTRL: added to the root of the gradient square sum
  OptionValues own;                  // of options that the optimizer declares itself

  // `otherwise` is 1e-10 for the Adagrads and 1e-8 for the Adams, as in torch.
  float epsilon_or(float otherwise) const { return epsilon == 0.0f ? otherwise : epsilon; }
  // rate / (1 + step * learning_rate_decay).
  float decayed_rate(float rate, uint64_t step) const {
    return static_cast<float>(double{rate} /
                              (1.0 + static_cast<double>(step) * double{learning_rate_decay}));
  }

  bool operator==(const OptimizerOptions&) const = default;
};

using OptimizerOptionMember = float OptimizerOptions::*;

struct OptimizerOptionField {
  std::string_view name;     // in JSON and of a table in YAML
  std::string_view setting;  // flag and YAML key of the whole run
  OptimizerOptionMember member = nullptr;
  std::string_view range;  // "a number of 0 or more"
  bool (*is_legal)(float value) = nullptr;
  // True: no optimizer refuses it, so that one value can stand for all tables of a run.
  bool is_for_all = false;
};

// In the order of the struct.
std::span<const OptimizerOptionField> OptimizerOptionFields();

// kUsage, naming the option and those in `taken`, if an option that is not in `taken` differs from
// its default.
Status CheckTaken(std::string_view optimizer, const OptimizerOptions& options,
                  std::span<const OptimizerOptionMember> taken);

}  // namespace rowhouse
