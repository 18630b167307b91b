// What --debug-mode prints on rank 0's worker, in the words and the order of DLRM: the model's
// shape, every mini-batch of an epoch, all parameters before and after training.
//
// Arrays are laid out as numpy (parameters) and torch (batches) do it, without wrapped lines and
// with all digits asked for. As there, of an array of more than 1000 elements each side longer than
// 6 shows its first and last 3 elements, with ... between: so of a large table 6 rows are fetched.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "common/transport/transport.h"
#include "launch/settings/settings.h"
#include "worker/client/ps_client.h"
#include "worker/dense/dense_parameters.h"

namespace rowhouse {

// "model arch:" and what follows.
std::string ModelArchText(const Settings& settings);

// Mini-batch `number`: inputs, bag lengths and ids by table, targets.
std::string BatchText(uint64_t number, const Batch& batch);

// "data (inputs and targets):" and the first `steps` mini-batches, to stdout.
Status PrintData(uint64_t steps, uint64_t mini_batch_size, Dataset& data);

// The title, then tables, then blocks of the dense part, to stdout. `steps`: done so far.
Status PrintParameters(std::string_view title, uint64_t steps, int precision,
                       const std::vector<TableSpec>& tables, DenseParameters& dense,
                       PsClient& client, Dialer& dialer, const Clock& clock);

// ---- Arrays ---------------------------------------------------------------------------------

struct ArrayStyle {
  std::string prefix, separator, suffix;  // numpy: "", " ", ""; torch: "tensor(", ", ", ")"
};
extern const ArrayStyle kNumpyStyle, kTorchStyle;

struct ArrayShape {
  uint64_t rows = 0, columns = 0;
  bool is_vector = false;  // of one dimension: rows is 1
};

// What is shown of `rows` rows of `columns`: indices in order; UINT64_MAX stands for "...".
std::vector<uint64_t> ShownRows(const ArrayShape& shape);

// All numbers in one notation: whole ("1."), fixed, or, as in numpy and torch where they differ by
// more than 1000 times or are below 1e-4, with exponents. `at` is asked for shown elements only.
std::string ArrayText(const ArrayShape& shape, const ArrayStyle& style, int precision,
                      const std::function<double(uint64_t row, uint64_t column)>& at);
// Whole numbers without a point.
std::string WholeArrayText(const ArrayShape& shape, const ArrayStyle& style,
                           const std::function<uint64_t(uint64_t row, uint64_t column)>& at);

}  // namespace rowhouse
