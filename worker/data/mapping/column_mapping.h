// What one column's values become: numbers of a dense column, ids of a categorical one. The rules
// are in worker/data/schema.h.
//
// Threads: const; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/mapping/vocabulary.h"
#include "worker/data/schema.h"

namespace rowhouse {

class DenseMapping {
 public:
  // kUsage, naming the column, for an unknown transform or a `missing` that is not finite.
  static Result<DenseMapping> Make(const DenseColumn& column, const DenseStatistics& statistics);

  // Writes column `column` of samples x width values, row-major; NaN in `raw` is missing.
  void Map(std::span<const float> raw, size_t column, size_t width, std::span<float> out) const;

 private:
  enum class Transform : uint8_t { kAsIs, kLog1p, kStandardise };

  Transform transform_ = Transform::kAsIs;
  float missing_ = 0.0f;
  DenseStatistics statistics_;
};

class CategoricalMapping {
 public:
  // `vocabulary` outlives it; null where ids are not by dictionary. kUsage, naming the column, for
  // an unknown word or too few rows.
  static Result<CategoricalMapping> Make(const CategoricalColumn& column,
                                         const Vocabulary* vocabulary);

  // Overwrites *out. Requires empty weights of `raw`, or one for each of its ids.
  void Map(const Bags& raw, Bags* out) const;

  // Nothing for a key that is left out of its bag.
  std::optional<uint64_t> IdOfKey(uint64_t key) const;

 private:
  enum class Ids : uint8_t { kHash, kModulo, kDictionary };

  static constexpr uint64_t kLeftOut = UINT64_MAX;

  // ids[i] of keys[i], kLeftOut for a key that is left out of its bag.
  void IdsOfKeys(std::span<const uint64_t> keys, std::span<uint64_t> ids) const;
  uint64_t IdOfNumber(uint64_t number) const;

  Ids ids_ = Ids::kHash;
  uint64_t first_ = 0;
  uint64_t range_ = 1;  // rows - first
  uint64_t max_ind_range_ = 0;
  bool has_missing_row_ = false;
  bool has_weights_ = false;
  uint64_t id_of_rare_ = kLeftOut;
  const Vocabulary* vocabulary_ = nullptr;
};

}  // namespace rowhouse
