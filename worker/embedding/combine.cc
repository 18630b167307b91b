#include "worker/embedding/combine.h"

#include <glog/logging.h>

#include <algorithm>

namespace rowhouse {

void CombineVectors(Combine combine, std::span<const std::vector<float>> vectors, size_t n,
                    size_t dim, std::span<float> out) {
  const size_t parts = vectors.size();
  if (combine == Combine::kConcat) {
    CHECK_EQ(out.size(), n * dim * parts);
    for (size_t i = 0; i < n; ++i) {
      for (size_t p = 0; p < parts; ++p) {
        std::copy_n(&vectors[p][i * dim], dim, &out[(i * parts + p) * dim]);
      }
    }
    return;
  }
  CHECK_EQ(out.size(), n * dim);
  std::copy_n(vectors[0].begin(), n * dim, out.begin());
  for (size_t p = 1; p < parts; ++p) {
    const float* vector = vectors[p].data();
    if (combine == Combine::kProduct) {
      for (size_t i = 0; i < n * dim; ++i) out[i] *= vector[i];
    } else {
      for (size_t i = 0; i < n * dim; ++i) out[i] += vector[i];
    }
  }
}

void SplitGradient(Combine combine, std::span<const std::vector<float>> vectors, size_t part,
                   std::span<const float> gradient, size_t n, size_t dim, std::span<float> out) {
  const size_t parts = vectors.size();
  CHECK_EQ(out.size(), n * dim);
  if (combine == Combine::kConcat) {
    for (size_t i = 0; i < n; ++i) {
      std::copy_n(&gradient[(i * parts + part) * dim], dim, &out[i * dim]);
    }
    return;
  }
  std::copy_n(gradient.begin(), n * dim, out.begin());
  if (combine == Combine::kSum) return;
  for (size_t p = 0; p < parts; ++p) {
    if (p == part) continue;
    const float* vector = vectors[p].data();
    for (size_t i = 0; i < n * dim; ++i) out[i] *= vector[i];
  }
}

}  // namespace rowhouse
