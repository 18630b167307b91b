// "criteo": Criteo's display advertising data as published: one TSV file, or one a day
// (worker/data/criteo_reader.h). One id a bag, 13 dense features, 26 tables.
//
// Ids. Tokens are taken modulo max_ind_range if that is above 0, then, by id_mapping:
//   hash        modulo the table's rows;
//   dictionary  numbered from 0 in order of first appearance over the whole file, so a table needs
//               as many rows as its column has different tokens. More are refused by number,
//               except of tables that take bad ids.
// Order. The last test_fraction of the lines is the test set, in file order. The lines before it
// are trained in one order in all epochs, as DLRM does: by randomize `total`, numpy's permutation
// from `seed`, or `none`, file order.
//
// Reads dense_features, table_*, takes_bad_ids, seed, file, data_set, test_fraction, randomize,
// id_mapping, max_ind_range. The file is read once, when the dataset is opened, and kept in memory
// as 160 bytes a line; faults are kUsage "FILE:LINE:COLUMN: what is wrong".
#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <numeric>
#include <span>
#include <unordered_map>

#include "common/numpy_random.h"
#include "common/rounding.h"
#include "worker/data/criteo_line.h"
#include "worker/data/criteo_reader.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

constexpr size_t kDense = CriteoLine::kIntegers;
constexpr size_t kTables = CriteoLine::kTokens;

struct Sample {
  std::array<float, kDense> dense;
  std::array<uint32_t, kTables> ids;
  uint8_t label;
};

// A deque grows without moving what it has: a vector would need twice the memory while growing.
using Samples = std::deque<Sample>;

// Turns the tokens of a column into ids of its table.
class IdMapping {
 public:
  IdMapping(const DatasetOptions& options, size_t table)
      : max_ind_range_(options.max_ind_range),
        rows_(options.table_rows[table]),
        by_appearance_(options.id_mapping == "dictionary") {}

  uint32_t IdOf(uint32_t token) {
    const uint32_t id = CriteoToken(token, max_ind_range_);
    if (!by_appearance_) return static_cast<uint32_t>(id % rows_);
    const auto next_id = static_cast<uint32_t>(appeared_.size());
    return appeared_.try_emplace(id, next_id).first->second;
  }

  uint64_t rows() const { return rows_; }
  uint64_t rows_needed() const { return by_appearance_ ? appeared_.size() : rows_; }

 private:
  const int64_t max_ind_range_;
  const uint64_t rows_;
  const bool by_appearance_;
  std::unordered_map<uint32_t, uint32_t> appeared_;
};

class CriteoData final : public Dataset {
 public:
  // `samples` in file order; the first order.size() of them train, in the order of `order`.
  CriteoData(Samples samples, std::vector<uint32_t> order, std::string digest)
      : samples_(std::move(samples)), order_(std::move(order)), digest_(std::move(digest)) {}

  uint64_t train_samples() const override { return order_.size(); }
  uint64_t test_samples() const override { return samples_.size() - order_.size(); }

  std::string content_digest() const override { return digest_; }

  Status ReadTrain(uint64_t /*epoch*/, uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= train_samples() && count <= train_samples() - first);
    out->Clear(kDense, kTables);
    for (uint64_t i = first; i < first + count; ++i) Add(samples_[order_[i]], out);
    return OkStatus();
  }

  Status ReadTest(uint64_t first, uint64_t count, Batch* out) override {
    CHECK(first <= test_samples() && count <= test_samples() - first);
    out->Clear(kDense, kTables);
    for (uint64_t i = first; i < first + count; ++i) Add(samples_[train_samples() + i], out);
    return OkStatus();
  }

 private:
  static void Add(const Sample& sample, Batch* out) {
    out->dense.insert(out->dense.end(), sample.dense.begin(), sample.dense.end());
    for (size_t table = 0; table < kTables; ++table) {
      out->features[table].ids.push_back(sample.ids[table]);
      out->features[table].EndBag();
    }
    out->labels.push_back(sample.label);
    ++out->samples;
  }

  const Samples samples_;
  const std::vector<uint32_t> order_;
  const std::string digest_;
};

Status ValidateName(const char* option, const std::string& value,
                    const std::vector<std::string>& known) {
  if (std::count(known.begin(), known.end(), value)) return OkStatus();
  return UsageError("unknown {} \"{}\" {}", option, value, DescribeKnownNames(value, known));
}

Status Validate(const DatasetOptions& options) {
  if (options.file.empty()) return UsageError("no file: the criteo data need the path of a TSV");
  if (options.dense_features != kDense) {
    return UsageError(
        "the model takes {} dense features and Criteo data have {}: set the first "
        "width of arch_mlp_bot to {}",
        options.dense_features, kDense, kDense);
  }
  if (options.table_rows.size() != kTables) {
    return UsageError(
        "the model has {} tables and Criteo data have {} categorical features: give "
        "arch_embedding_size {} sizes",
        options.table_rows.size(), kTables, kTables);
  }
  for (size_t table = 0; table < kTables; ++table) {
    if (options.table_rows[table] == 0) {
      return UsageError("{} has 0 rows", options.Describe(table));
    }
  }
  if (!(options.test_fraction >= 0.0 && options.test_fraction < 1.0)) {
    return UsageError("test_fraction={} is not in [0, 1)", options.test_fraction);
  }
  RETURN_IF_ERROR(ValidateName("randomize", options.randomize, {"none", "total"}));
  RETURN_IF_ERROR(ValidateName("id_mapping", options.id_mapping, {"dictionary", "hash"}));
  if (options.randomize == "total" && options.seed > std::numeric_limits<uint32_t>::max()) {
    return UsageError("seed {} is not below 2^32, as numpy's permutation needs", options.seed);
  }
  return OkStatus();
}

Result<Samples> ReadSamples(const DatasetOptions& options, std::span<IdMapping> mappings,
                            std::string* digest) {
  ASSIGN_OR_RETURN(CriteoReader reader, CriteoReader::Open(options.file, options.data_set));
  Samples samples;
  CriteoLine parsed;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&parsed));
    if (!more) break;
    Sample& sample = samples.emplace_back();
    for (size_t i = 0; i < kDense; ++i) sample.dense[i] = CriteoDense(parsed.integers[i]);
    for (size_t i = 0; i < kTables; ++i) sample.ids[i] = mappings[i].IdOf(parsed.tokens[i]);
    sample.label = parsed.label;
  }
  *digest = reader.digest();
  if (samples.empty()) {
    return UsageError("\"{}\" is empty: there is nothing to train on", options.file);
  }
  if (samples.size() > std::numeric_limits<uint32_t>::max()) {
    return UsageError("\"{}\" has {} lines, more than the 2^32 - 1 that are read at once; split it",
                      options.file, samples.size());
  }
  return samples;
}

Status CheckRows(const DatasetOptions& options, std::span<const IdMapping> mappings) {
  std::vector<uint64_t> needed;
  for (const IdMapping& mapping : mappings) needed.push_back(mapping.rows_needed());
  for (size_t table = 0; table < mappings.size(); ++table) {
    if (needed[table] <= mappings[table].rows() || options.TakesBadIds(table)) continue;
    return UsageError(
        "\"{}\": the dictionary of {} (token C{}) needs {} rows and the table has {}. This file "
        "needs arch_embedding_size={} or more; or choose id_mapping hash, or a lower "
        "max_ind_range, or give the table bad_ids: modulo or padding (--config, section tables)",
        options.file, options.Describe(table), table + 1, needed[table], mappings[table].rows(),
        fmt::join(needed, "-"));
  }
  return OkStatus();
}

Result<std::unique_ptr<Dataset>> Open(const DatasetOptions& options) {
  RETURN_IF_ERROR(Validate(options));
  std::vector<IdMapping> mappings;
  for (size_t table = 0; table < kTables; ++table) mappings.emplace_back(options, table);
  std::string digest;
  ASSIGN_OR_RETURN(Samples samples, ReadSamples(options, mappings, &digest));
  RETURN_IF_ERROR(CheckRows(options, mappings));

  const auto lines = static_cast<double>(samples.size());
  const auto test = static_cast<size_t>(RoundHalfEven(lines * options.test_fraction));
  if (test == samples.size()) {
    return UsageError("test_fraction={} of the {} lines of \"{}\" leaves none to train on",
                      options.test_fraction, samples.size(), options.file);
  }
  std::vector<uint32_t> order(samples.size() - test);
  std::iota(order.begin(), order.end(), 0u);
  if (options.randomize == "total") {
    NumpyRandom(static_cast<uint32_t>(options.seed)).Shuffle(std::span(order));
  }
  return std::unique_ptr<Dataset>(
      std::make_unique<CriteoData>(std::move(samples), std::move(order), std::move(digest)));
}

std::string WhyNothingIsTested(const DatasetOptions& options) {
  if (options.test_fraction > 0.0) return "";
  return "no part of the file is held out; --test_fraction=0.1 holds out the last tenth";
}

const bool kRegistered =
    AddDataset("criteo", {.reads_file = true, .why_untested = &WhyNothingIsTested}, Open);

}  // namespace
}  // namespace rowhouse
