#include "worker/data/mapping/column_mapping.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/nearest_name.h"
#include "common/random.h"
#include "worker/data/mapping/token_key.h"

namespace rowhouse {
namespace {

Status CheckWord(const std::string& column, const char* what, const std::string& word,
                 const std::vector<std::string>& known) {
  if (std::count(known.begin(), known.end(), word) > 0) return OkStatus();
  return UsageError("column {}: unknown {} \"{}\" {}", column, what, word,
                    DescribeKnownNames(word, known));
}

// Division of 64 bits takes several times as long as one of 32.
inline uint64_t Modulo(uint64_t number, uint64_t divisor) {
  if (((number | divisor) >> 32) != 0) return number % divisor;
  return static_cast<uint32_t>(number) % static_cast<uint32_t>(divisor);
}

}  // namespace

Result<DenseMapping> DenseMapping::Make(const DenseColumn& column,
                                        const DenseStatistics& statistics) {
  RETURN_IF_ERROR(
      CheckWord(column.name, "transform", column.transform, {"as_is", "log1p", "standardise"}));
  if (!std::isfinite(column.missing)) {
    return UsageError("column {}: missing={} is not a finite number", column.name, column.missing);
  }
  DenseMapping mapping;
  mapping.missing_ = column.missing;
  mapping.statistics_ = statistics;
  if (column.transform == "log1p") mapping.transform_ = Transform::kLog1p;
  if (column.transform == "standardise") mapping.transform_ = Transform::kStandardise;
  return mapping;
}

void DenseMapping::Map(std::span<const float> raw, size_t column, size_t width,
                       std::span<float> out) const {
  const auto value_at = [&](size_t at) { return std::isnan(raw[at]) ? missing_ : raw[at]; };
  switch (transform_) {
    case Transform::kAsIs:
      for (size_t at = column; at < raw.size(); at += width) out[at] = value_at(at);
      break;
    case Transform::kLog1p:
      for (size_t at = column; at < raw.size(); at += width) {
        out[at] = std::log(std::max(value_at(at), 0.0f) + 1.0f);
      }
      break;
    case Transform::kStandardise:
      for (size_t at = column; at < raw.size(); at += width) {
        const double distance = static_cast<double>(value_at(at)) - statistics_.mean;
        out[at] = statistics_.deviation == 0.0
                      ? 0.0f
                      : static_cast<float>(distance / statistics_.deviation);
      }
      break;
  }
}

Result<CategoricalMapping> CategoricalMapping::Make(const CategoricalColumn& column,
                                                    const Vocabulary* vocabulary) {
  RETURN_IF_ERROR(CheckWord(column.name, "ids", column.ids, {"dictionary", "hash", "modulo"}));
  RETURN_IF_ERROR(CheckWord(column.name, "token", column.token, {"hex", "integer", "string"}));
  CategoricalMapping mapping;
  mapping.first_ = KeptRows(column);
  if (column.rows <= mapping.first_) {
    return UsageError(
        "column {}: its table has {} rows, of which {} are kept for missing and rare "
        "tokens; it needs more",
        column.name, column.rows, mapping.first_);
  }
  mapping.range_ = column.rows - mapping.first_;
  mapping.max_ind_range_ = column.max_ind_range;
  mapping.has_missing_row_ = column.missing_row;
  if (column.rare_row) mapping.id_of_rare_ = column.missing_row ? 1 : 0;
  mapping.has_weights_ = !column.weight_separator.empty();
  mapping.vocabulary_ = vocabulary;
  if (column.ids == "modulo") mapping.ids_ = Ids::kModulo;
  if (column.ids == "dictionary") {
    CHECK(vocabulary != nullptr);
    mapping.ids_ = Ids::kDictionary;
  }
  return mapping;
}

// Of a key's number in the dictionary.
uint64_t CategoricalMapping::IdOfNumber(uint64_t number) const {
  return number == Vocabulary::kNone ? id_of_rare_ : first_ + number;
}

void CategoricalMapping::IdsOfKeys(std::span<const uint64_t> keys, std::span<uint64_t> ids) const {
  const auto limited = [&](uint64_t key) {
    return max_ind_range_ > 0 ? Modulo(key, max_ind_range_) : key;
  };
  switch (ids_) {
    case Ids::kHash:
      for (size_t i = 0; i < keys.size(); ++i) {
        ids[i] = first_ + Modulo(Mix64(limited(keys[i])), range_);
      }
      break;
    case Ids::kModulo:
      for (size_t i = 0; i < keys.size(); ++i) ids[i] = first_ + Modulo(limited(keys[i]), range_);
      break;
    case Ids::kDictionary:
      for (size_t i = 0; i < keys.size(); ++i) ids[i] = limited(keys[i]);
      vocabulary_->FindAll(ids, ids);
      for (uint64_t& id : ids) id = IdOfNumber(id);
      break;
  }
}

std::optional<uint64_t> CategoricalMapping::IdOfKey(uint64_t key) const {
  uint64_t id = 0;
  IdsOfKeys({&key, 1}, {&id, 1});
  if (id == kLeftOut) return std::nullopt;
  return id;
}

void CategoricalMapping::Map(const Bags& raw, Bags* out) const {
  std::vector<uint64_t> ids(raw.ids.size());
  IdsOfKeys(raw.ids, ids);
  if (!has_missing_row_ && std::ranges::find(ids, kLeftOut) == ids.end()) {
    out->offsets = raw.offsets;
    out->weights = raw.weights;
    out->ids = std::move(ids);
    return;
  }
  const bool has_weights = has_weights_ || !raw.weights.empty();
  out->clear();
  for (size_t sample = 0; sample < raw.samples(); ++sample) {
    const uint32_t begin = raw.offsets[sample], end = raw.offsets[sample + 1];
    if (begin == end && has_missing_row_) {
      out->ids.push_back(0);
      if (has_weights) out->weights.push_back(1.0f);
    }
    for (uint32_t i = begin; i < end; ++i) {
      if (ids[i] == kLeftOut) continue;
      out->ids.push_back(ids[i]);
      if (has_weights) out->weights.push_back(raw.weights[i]);
    }
    out->EndBag();
  }
}

}  // namespace rowhouse
