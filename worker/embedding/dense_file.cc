#include "worker/embedding/dense_file.h"

#include <algorithm>

namespace rowhouse {

std::vector<float> MakeDenseFile(DenseParameters& parameters, DenseOptimizer& optimizer,
                                 const WorkerRows& rows) {
  std::vector<float> file(parameters.values().begin(), parameters.values().end());
  file.insert(file.end(), optimizer.state().begin(), optimizer.state().end());
  const std::vector<float> records = rows.Save();
  file.insert(file.end(), records.begin(), records.end());
  return file;
}

Status LoadDenseFile(std::span<const float> file, DenseParameters* parameters,
                     DenseOptimizer* optimizer, WorkerRows* rows) {
  const std::span<float> values = parameters->values(), state = optimizer->state();
  const size_t wanted = values.size() + state.size() + rows->saved_floats();
  if (file.size() != wanted) {
    return CorruptionError("the saved dense part has {} floats, the model needs {}", file.size(),
                           wanted);
  }
  std::ranges::copy(file.first(values.size()), values.begin());
  std::ranges::copy(file.subspan(values.size(), state.size()), state.begin());
  return rows->Load(file.subspan(values.size() + state.size()));
}

}  // namespace rowhouse
