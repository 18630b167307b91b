// Loss: the loss of one predicted probability p for its label t (torch's MSELoss, BCELoss).
//
//   mse   (p - t)^2
//   bce   -(t log p + (1 - t) log(1 - p)), each log clamped at -100
//   wbce  w[class] * bce, class = t truncated to an integer: soft labels fall in class 0
//
// bce and wbce take label_smoothing = E (Szegedy et al., 2016, "Rethinking the Inception
// Architecture", section 7): the entropy is that of the target t (1 - E) + E / 2 instead of t. The
// class is that of t.
//
// Threads: const after construction.
#pragma once

#include <array>

#include "common/registry.h"

namespace rowhouse {

struct LossOptions {
  std::array<double, 2> class_weights = {1.0, 1.0};  // wbce
  OptionValues own = {};                             // of options that the loss declares itself
};

class Loss {
 public:
  virtual ~Loss() = default;

  // The loss of one sample. p and label in [0, 1].
  virtual double Value(float p, float label) const = 0;

  // Its derivative by p. bce divides by max(p(1 - p), 1e-12), as torch does.
  virtual float Gradient(float p, float label) const = 0;
};

// What a loss says of itself, for code that knows it only by name.
struct LossDeclaration {
  bool is_logloss = false;  // its mean over samples is what tests call logloss
};

using LossRegistry = Registry<Loss, LossOptions, LossDeclaration>;
LossRegistry& Losses();

}  // namespace rowhouse
