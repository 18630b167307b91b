// What --debug-mode prints on rank 0's worker, in the words and the order of DLRM: the model's
// shape, every mini-batch of an epoch, all parameters before and after training.
//
// Parameters are laid out as numpy prints them and batches as torch does, without wrapped lines and
// with the number of digits asked for. As there, an array of more than 1000 elements shows the
// first and last 3 elements of each side that is longer than 6, with ... between; so at most 6 rows
// of a large table are fetched. Threads: one.
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

// The lines from "model arch:" on.
std::string ModelArchText(const Settings& settings);

// Mini-batch `number`: its inputs, then bag lengths and ids of each table, then its targets.
std::string BatchText(uint64_t number, const Batch& batch);

// Prints "data (inputs and targets):" and the first `steps` mini-batches to stdout.
Status PrintData(uint64_t steps, uint64_t mini_batch_size, Dataset& data);

// Prints the title, then the tables, then the blocks of the dense part to stdout. `steps`: number
// of steps done so far. Errors are those of pulling the rows.
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

// The indices of the rows that are shown, ascending; UINT64_MAX stands for "...".
std::vector<uint64_t> ShownRows(const ArrayShape& shape);

// All numbers have one notation, chosen as numpy and torch do: whole ("1."), fixed, or with
// exponents where the largest is more than 1000 times the smallest or the smallest is below 1e-4.
// `at` is called for shown elements only.
std::string ArrayText(const ArrayShape& shape, const ArrayStyle& style, int precision,
                      const std::function<double(uint64_t row, uint64_t column)>& at);
// Whole numbers without a point.
std::string WholeArrayText(const ArrayShape& shape, const ArrayStyle& style,
                           const std::function<uint64_t(uint64_t row, uint64_t column)>& at);

}  // namespace rowhouse
