#include "worker/data/convert/fitting.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <span>
#include <thread>

#include "common/mutex.h"
#include "common/random.h"
#include "worker/data/convert/sorted_runs.h"
#include "worker/data/mapping/vocabulary.h"

namespace rowhouse {
namespace {

struct Appearance {
  uint64_t first;
  uint64_t key;
};
struct AppearsEarlier {
  bool operator()(const Appearance& a, const Appearance& b) const { return a.first < b.first; }
};

struct NumberedKey {
  uint64_t key;
  uint64_t number;
};
struct ComesEarlierInFile {
  bool operator()(const NumberedKey& a, const NumberedKey& b) const {
    return Mix64(a.key) < Mix64(b.key);
  }
};

}  // namespace

bool Fitting::IsNeeded(const Schema& schema) {
  return std::ranges::any_of(schema.categorical,
                             [](const auto& column) { return column.ids == "dictionary"; }) ||
         std::ranges::any_of(schema.dense,
                             [](const auto& column) { return column.transform == "standardise"; });
}

Fitting::Fitting(const Schema& schema, FittingOptions options)
    : schema_(schema), options_(std::move(options)), moments_(schema.dense.size()) {
  for (size_t column = 0; column < schema.categorical.size(); ++column) {
    if (schema.categorical[column].ids == "dictionary") dictionaries_.push_back({.column = column});
  }
  for (uint32_t thread = 0; thread < options_.threads; ++thread) {
    counts_.push_back(std::make_unique<TokenCounts>(
        dictionaries_.size(), fmt::format("{}/spill-{}", options_.directory, thread),
        options_.memory_bytes / options_.threads));
  }
}

Status Fitting::AddTokens(uint32_t thread, uint64_t chunk, const Batch& raw) {
  CHECK_LE(chunk, std::numeric_limits<uint32_t>::max());
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < dictionaries_.size(); ++i) {
    const size_t column = dictionaries_[i].column;
    const uint64_t max_ind_range = schema_.categorical[column].max_ind_range;
    std::span<const uint64_t> tokens = raw.features[column].ids;
    if (max_ind_range > 0) {
      keys.assign(tokens.begin(), tokens.end());
      for (uint64_t& key : keys) key %= max_ind_range;
      tokens = keys;
    }
    RETURN_IF_ERROR(counts_[thread]->Add(i, tokens, chunk << 32));
  }
  return OkStatus();
}

std::vector<Moments> Fitting::MomentsOf(const Batch& raw) const {
  std::vector<Moments> moments(schema_.dense.size());
  for (size_t column = 0; column < moments.size(); ++column) {
    if (schema_.dense[column].transform != "standardise") continue;
    moments[column] = Moments::Of(raw.dense, column, moments.size());
  }
  return moments;
}

void Fitting::AddMoments(const std::vector<Moments>& moments) {
  for (size_t column = 0; column < moments_.size(); ++column) moments_[column].Add(moments[column]);
}

bool Fitting::TakesBadIds(size_t column) const {
  return column < options_.takes_bad_ids.size() && options_.takes_bad_ids[column];
}

uint64_t Fitting::RowsNeeded(const Dictionary& dictionary) const {
  return std::max<uint64_t>(1,
                            KeptRows(schema_.categorical[dictionary.column]) + dictionary.tokens);
}

Status Fitting::WriteVocabulary(size_t dictionary, uint64_t parts) {
  Dictionary& made = dictionaries_[dictionary];
  const CategoricalColumn& column = schema_.categorical[made.column];
  const std::string path = options_.directory + "/" + VocabularyFileName(made.column);
  const uint64_t memory = options_.memory_bytes / parts / 2;

  ExternalSort<Appearance, AppearsEarlier> by_appearance(
      fmt::format("{}/spill-first-{}", options_.directory, dictionary), memory);
  RETURN_IF_ERROR(TokenCounts::ForEachToken(counts_, dictionary, [&](const TokenCount& token) {
    return token.count < column.min_count ? OkStatus()
                                          : by_appearance.Add({token.first, token.key});
  }));
  made.tokens = by_appearance.size();

  uint64_t kept = made.tokens;
  if (column.rare_row && column.rows > 0 && !TakesBadIds(made.column)) {
    kept = std::min(kept, column.rows - std::min(column.rows, KeptRows(column)));
  }
  made.kept = kept;
  ExternalSort<NumberedKey, ComesEarlierInFile> by_key(
      fmt::format("{}/spill-sorted-{}", options_.directory, dictionary), memory);
  uint64_t number = 0;
  RETURN_IF_ERROR(by_appearance.ForEach([&](const Appearance& token) {
    const uint64_t own = number++;
    return own < kept ? by_key.Add({token.key, own}) : OkStatus();
  }));

  ASSIGN_OR_RETURN(const std::unique_ptr<VocabularyWriter> writer,
                   VocabularyWriter::Open(path, kept));
  RETURN_IF_ERROR(by_key.ForEach(
      [&](const NumberedKey& token) { return writer->Add(token.key, token.number); }));
  return writer->Finish();
}

Status Fitting::WriteVocabularies() {
  const auto parts =
      static_cast<uint32_t>(std::min<size_t>(options_.threads, dictionaries_.size()));
  std::atomic<size_t> next{0};
  std::vector<Status> status(dictionaries_.size());
  std::vector<std::thread> threads;
  for (uint32_t part = 0; part < parts; ++part) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < dictionaries_.size(); i = next++) {
        status[i] = WriteVocabulary(i, parts);
        if (!status[i].ok()) next = dictionaries_.size();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& one : status) RETURN_IF_ERROR(one);
  return OkStatus();
}

Status Fitting::CheckRows() const {
  std::vector<uint64_t> needed;
  for (const CategoricalColumn& column : schema_.categorical) needed.push_back(column.rows);
  for (const Dictionary& dictionary : dictionaries_) {
    needed[dictionary.column] = RowsNeeded(dictionary);
  }
  for (const Dictionary& dictionary : dictionaries_) {
    const CategoricalColumn& column = schema_.categorical[dictionary.column];
    if (column.rare_row || TakesBadIds(dictionary.column) ||
        needed[dictionary.column] <= column.rows) {
      continue;
    }
    return UsageError(
        "{}: the dictionary of table {} \"{}\" needs {} rows and the table has {}. These data need "
        "arch_embedding_size={} or more; or choose ids by hash (id_mapping hash), or a lower "
        "max_ind_range, or a higher min_count, or a rare_row, or give the table bad_ids: modulo or "
        "padding (--config, section tables)",
        options_.source, dictionary.column, column.name, needed[dictionary.column], column.rows,
        fmt::join(needed, "-"));
  }
  return OkStatus();
}

std::vector<std::string> Fitting::Warnings() const {
  std::vector<std::string> warnings;
  for (const Dictionary& dictionary : dictionaries_) {
    const CategoricalColumn& column = schema_.categorical[dictionary.column];
    if (dictionary.kept == dictionary.tokens) continue;
    warnings.push_back(fmt::format(
        "{}: the table of column \"{}\" has {} rows, and its dictionary needs {}: {} of {} tokens, "
        "those that appear last, share the row of rare ones; give the table {} rows, or the column "
        "a higher min_count",
        options_.source, column.name, column.rows, RowsNeeded(dictionary),
        dictionary.tokens - dictionary.kept, dictionary.tokens, RowsNeeded(dictionary)));
  }
  return warnings;
}

Status Fitting::Finish() {
  for (const auto& counts : counts_) RETURN_IF_ERROR(counts->Finish());
  RETURN_IF_ERROR(WriteVocabularies());
  counts_.clear();
  for (const Dictionary& dictionary : dictionaries_) {
    uint64_t& rows = schema_.categorical[dictionary.column].rows;
    if (rows == 0) rows = RowsNeeded(dictionary);
  }
  RETURN_IF_ERROR(CheckRows());
  std::vector<DenseStatistics> statistics;
  for (const Moments& moments : moments_) {
    statistics.push_back({moments.mean, moments.deviation()});
  }
  return WritePreprocessing(options_.directory, schema_, statistics);
}

}  // namespace rowhouse
