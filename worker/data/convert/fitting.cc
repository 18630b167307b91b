#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <span>
#include <thread>

#include "common/random.h"
#include "worker/data/buckets.h"
#include "worker/data/convert/ordered_chunks.h"
#include "worker/data/convert/passes.h"
#include "worker/data/convert/token_counts.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/mapping/vocabulary.h"
#include "worker/data/text/text_chunks.h"

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

// Makes the files in `directory`, which exists.
class Fitting {
 public:
  Fitting(const Schema& schema, const ConversionOptions& options, uint32_t threads,
          std::string directory);

  // Counts the tokens of raw samples, which are chunk number `chunk` of the data: below 2^32, and
  // ascending on each thread. On several threads at once, each with a number of its own.
  Status AddTokens(uint32_t thread, uint64_t chunk, const Batch& raw);

  // Of each dense column; others than standardised ones are left empty.
  std::vector<Moments> MomentsOf(const Batch& raw) const;
  // Call it in the order of the data.
  void AddMoments(const std::vector<Moments>& moments);

  // Writes the files.
  Status Finish();

  // After Finish.
  std::vector<std::string> Warnings() const;

 private:
  struct Dictionary {
    size_t column = 0;                // among the categorical ones
    const Vocabulary* old = nullptr;  // that it goes on from; null: none
    uint64_t tokens = 0;              // of the old one, and that occur often enough
    uint64_t kept = 0;                // of these
  };

  // The edges of quantiles from the counts of numbers `counted`, a column of the counts.
  Status FindEdges(size_t counted, CategoricalColumn* column) const;
  // `part`: of `parts` that are made at the same time.
  Status WriteVocabulary(size_t dictionary, uint64_t parts);
  Status WriteVocabularies();
  uint64_t RowsNeeded(const Dictionary& dictionary) const;
  Status CheckRows() const;
  bool TakesBadIds(size_t column) const {
    return column < takes_bad_ids_.size() && takes_bad_ids_[column];
  }

  Schema schema_;
  const std::shared_ptr<const Preprocessing> old_;  // that is gone on from; null: none
  const std::vector<bool> takes_bad_ids_;
  const std::string source_;  // how messages name the data
  const std::string directory_;
  const uint64_t memory_bytes_;
  std::vector<Dictionary> dictionaries_;
  std::vector<size_t> quantiles_;              // categorical columns that have them as edges
  std::vector<std::optional<Cross>> crosses_;  // of each of dictionaries_, if it is a cross
  std::vector<Moments> moments_;               // of each dense column
  // Of each thread; columns are dictionaries_, then quantiles_.
  std::vector<std::unique_ptr<TokenCounts>> counts_;
};

Fitting::Fitting(const Schema& schema, const ConversionOptions& options, uint32_t threads,
                 std::string directory)
    : schema_(options.preprocessing != nullptr ? options.preprocessing->schema() : schema),
      old_(options.preprocessing),
      takes_bad_ids_(options.takes_bad_ids),
      source_(options.files.front()),
      directory_(std::move(directory)),
      memory_bytes_(options.memory_bytes / 2),
      moments_(schema.dense.size()) {
  for (size_t column = 0; column < schema_.categorical.size() && old_ == nullptr; ++column) {
    CategoricalColumn& described = schema_.categorical[column];
    if (!described.is_bucket()) continue;
    EdgeRule rule = ReadEdges(described.edges).value();  // MakePreprocessing has checked it.
    if (rule.quantiles > 0) quantiles_.push_back(column);
    described.edge_values = std::move(rule.edges);
  }
  for (size_t column = 0; column < schema_.categorical.size(); ++column) {
    if (schema_.categorical[column].ids != "dictionary") continue;
    dictionaries_.push_back(
        {.column = column, .old = old_ == nullptr ? nullptr : old_->vocabulary(column)});
    crosses_.emplace_back();
    if (schema_.categorical[column].is_cross()) crosses_.back().emplace(schema_, column);
  }
  for (uint32_t thread = 0; thread < threads; ++thread) {
    counts_.push_back(std::make_unique<TokenCounts>(dictionaries_.size() + quantiles_.size(),
                                                    fmt::format("{}/spill-{}", directory_, thread),
                                                    memory_bytes_ / threads));
  }
}

Status Fitting::AddTokens(uint32_t thread, uint64_t chunk, const Batch& raw) {
  CHECK_LE(chunk, std::numeric_limits<uint32_t>::max());
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < dictionaries_.size(); ++i) {
    const size_t column = dictionaries_[i].column;
    const uint64_t max_ind_range = schema_.categorical[column].max_ind_range;
    const Bags pairs = crosses_[i] ? crosses_[i]->Of(raw) : Bags();
    std::span<const uint64_t> tokens = crosses_[i] ? pairs.ids : raw.features[column].ids;
    if (max_ind_range > 0) {
      keys.assign(tokens.begin(), tokens.end());
      for (uint64_t& key : keys) key %= max_ind_range;
      tokens = keys;
    }
    RETURN_IF_ERROR(counts_[thread]->Add(i, tokens, chunk << 32));
  }
  for (size_t i = 0; i < quantiles_.size(); ++i) {
    RETURN_IF_ERROR(counts_[thread]->Add(dictionaries_.size() + i, raw.features[quantiles_[i]].ids,
                                         chunk << 32));
  }
  return OkStatus();
}

// Exact: edge i of N - 1 is number floor(n i / N) of the n numbers in ascending order, from 0. Of
// equal edges one is kept, and none that is the least number, below which no number lies.
Status Fitting::FindEdges(size_t counted, CategoricalColumn* column) const {
  struct CountedNumber {
    float number;
    uint64_t count;
  };
  struct IsLess {
    bool operator()(const CountedNumber& a, const CountedNumber& b) const {
      return a.number < b.number;
    }
  };
  ExternalSort<CountedNumber, IsLess> numbers(
      fmt::format("{}/spill-numbers-{}", directory_, counted), memory_bytes_ / 2);
  uint64_t all = 0;
  RETURN_IF_ERROR(TokenCounts::ForEachToken(counts_, counted, [&](const TokenCount& token) {
    all += token.count;
    return numbers.Add({NumberOfKey(token.key), token.count});
  }));
  const uint64_t buckets = ReadEdges(column->edges).value().quantiles;
  uint64_t next = 1, before = 0;  // edge to find; numbers below
  return numbers.ForEach([&](const CountedNumber& one) {
    const auto is_edge = [&] {
      const auto rank = static_cast<uint64_t>(static_cast<unsigned __int128>(all) * next / buckets);
      return next < buckets && rank < before + one.count;
    };
    if (before > 0 && is_edge()) column->edge_values.push_back(one.number);
    while (is_edge()) ++next;
    before += one.count;
    return OkStatus();
  });
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

uint64_t Fitting::RowsNeeded(const Dictionary& dictionary) const {
  return std::max<uint64_t>(1,
                            KeptRows(schema_.categorical[dictionary.column]) + dictionary.tokens);
}

Status Fitting::WriteVocabulary(size_t dictionary, uint64_t parts) {
  Dictionary& made = dictionaries_[dictionary];
  const CategoricalColumn& column = schema_.categorical[made.column];
  const std::string path = directory_ + "/" + VocabularyFileName(made.column);
  const uint64_t memory = memory_bytes_ / parts / 2;

  ExternalSort<Appearance, AppearsEarlier> by_appearance(
      fmt::format("{}/spill-first-{}", directory_, dictionary), memory);
  RETURN_IF_ERROR(TokenCounts::ForEachToken(counts_, dictionary, [&](const TokenCount& token) {
    if (token.count < column.min_count) return OkStatus();
    uint64_t number = Vocabulary::kNone;
    if (made.old != nullptr) made.old->FindAll({&token.key, 1}, {&number, 1});
    return number == Vocabulary::kNone ? by_appearance.Add({token.first, token.key}) : OkStatus();
  }));
  const uint64_t old_tokens = made.old == nullptr ? 0 : made.old->size();
  made.tokens = old_tokens + by_appearance.size();

  uint64_t kept = made.tokens;
  if ((column.rare_row || made.old != nullptr) && column.rows > 0 && !TakesBadIds(made.column)) {
    kept = std::min(kept, column.rows - std::min(column.rows, KeptRows(column)));
  }
  made.kept = std::max(kept, old_tokens);
  ExternalSort<NumberedKey, ComesEarlierInFile> by_key(
      fmt::format("{}/spill-sorted-{}", directory_, dictionary), memory);
  if (made.old != nullptr) {
    RETURN_IF_ERROR(made.old->ForEach([&](uint64_t key, uint64_t number) {
      return by_key.Add({key, number});
    }));
  }
  uint64_t number = old_tokens;
  RETURN_IF_ERROR(by_appearance.ForEach([&](const Appearance& token) {
    const uint64_t own = number++;
    return own < made.kept ? by_key.Add({token.key, own}) : OkStatus();
  }));

  ASSIGN_OR_RETURN(const std::unique_ptr<VocabularyWriter> writer,
                   VocabularyWriter::Open(path, made.kept));
  RETURN_IF_ERROR(by_key.ForEach(
      [&](const NumberedKey& token) { return writer->Add(token.key, token.number); }));
  return writer->Finish();
}

Status Fitting::WriteVocabularies() {
  const auto parts = static_cast<uint32_t>(std::min<size_t>(counts_.size(), dictionaries_.size()));
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
    if (column.rare_row || dictionary.old != nullptr || TakesBadIds(dictionary.column) ||
        needed[dictionary.column] <= column.rows) {
      continue;
    }
    return UsageError(
        "{}: the dictionary of table {} \"{}\" needs {} rows and the table has {}. These data need "
        "arch_embedding_size={} or more; or choose ids by hash (id_mapping hash), or a lower "
        "max_ind_range, or a higher min_count, or a rare_row, or give the table bad_ids: modulo or "
        "padding (--config, section tables)",
        source_, dictionary.column, column.name, needed[dictionary.column], column.rows,
        fmt::join(needed, "-"));
  }
  return OkStatus();
}

std::vector<std::string> Fitting::Warnings() const {
  std::vector<std::string> warnings;
  for (const Dictionary& dictionary : dictionaries_) {
    const CategoricalColumn& column = schema_.categorical[dictionary.column];
    if (dictionary.old != nullptr && dictionary.tokens > dictionary.old->size()) {
      warnings.push_back(fmt::format(
          "{}: the dictionary of column \"{}\" {}", source_, column.name,
          dictionary.kept > dictionary.old->size()
              ? fmt::format("grew from {} to {} tokens", dictionary.old->size(), dictionary.kept)
              : "stays"));
      if (dictionary.kept < dictionary.tokens) {
        warnings.back() += fmt::format("; its table of {} rows has none for {} more", column.rows,
                                       dictionary.tokens - dictionary.kept);
      }
    }
    if (dictionary.kept == dictionary.tokens || dictionary.old != nullptr) continue;
    warnings.push_back(fmt::format(
        "{}: the table of column \"{}\" has {} rows, and its dictionary needs {}: {} of {} tokens, "
        "those that appear last, share the row of rare ones; give the table {} rows, or the column "
        "a higher min_count",
        source_, column.name, column.rows, RowsNeeded(dictionary),
        dictionary.tokens - dictionary.kept, dictionary.tokens, RowsNeeded(dictionary)));
  }
  return warnings;
}

Status Fitting::Finish() {
  for (const auto& counts : counts_) RETURN_IF_ERROR(counts->Finish());
  RETURN_IF_ERROR(WriteVocabularies());
  for (size_t i = 0; i < quantiles_.size(); ++i) {
    RETURN_IF_ERROR(FindEdges(dictionaries_.size() + i, &schema_.categorical[quantiles_[i]]));
  }
  counts_.clear();
  for (CategoricalColumn& column : schema_.categorical) {
    if (!column.is_bucket() || column.rows > 0) continue;
    column.rows = column.edge_values.size() + 1 + KeptRows(column);
  }
  for (const Dictionary& dictionary : dictionaries_) {
    uint64_t& rows = schema_.categorical[dictionary.column].rows;
    if (rows == 0) rows = RowsNeeded(dictionary);
  }
  RETURN_IF_ERROR(CheckRows());
  if (old_ != nullptr) return WritePreprocessing(directory_, schema_, old_->statistics());
  std::vector<DenseStatistics> statistics;
  for (const Moments& moments : moments_) {
    statistics.push_back({moments.mean, moments.deviation()});
  }
  return WritePreprocessing(directory_, schema_, statistics);
}

struct CountedChunk {
  std::vector<Moments> moments;
  std::vector<BadLine> bad_lines;
  size_t samples = 0;
};

Result<std::vector<std::string>> CountChunks(const TextFormat& format,
                                             const ConversionOptions& options, uint32_t threads,
                                             Fitting* fitting) {
  ASSIGN_OR_RETURN(TextChunks chunks,
                   TextChunks::Open(options.files, format.records(), options.chunk_bytes));
  PassProgress progress(options.hooks, {.pass = 1, .passes = 2, .bytes = chunks.bytes_total()});
  BadLineCount bad_lines(options.max_bad_lines);
  std::vector<Batch> raw(threads);
  OrderedChunks<CountedChunk> pass(
      &chunks,
      {.threads = threads,
       .stop = options.hooks.stop,
       .tick = [&](uint64_t bytes_done) { progress.Tick(bytes_done); }},
      [&](const TextChunk& chunk, uint32_t thread, CountedChunk* counted) {
        counted->bad_lines.clear();
        RETURN_IF_ERROR(format.Parse(chunk, &raw[thread], &counted->bad_lines));
        counted->samples = raw[thread].samples;
        counted->moments = fitting->MomentsOf(raw[thread]);
        return fitting->AddTokens(thread, chunk.number, raw[thread]);
      },
      [&](const TextChunk&, CountedChunk* counted) {
        fitting->AddMoments(counted->moments);
        progress.Add(counted->samples, counted->bad_lines.size());
        return bad_lines.Add(counted->bad_lines);
      });
  RETURN_IF_ERROR(pass.Run());
  return chunks.digests();
}

}  // namespace

bool HasFirstPass(const TextFormat& format, const ConversionOptions& options) {
  const Schema& schema = format.schema();
  const bool has_dictionary =
      std::ranges::count(schema.categorical, "dictionary", &CategoricalColumn::ids) > 0;
  if (options.preprocessing != nullptr) return options.grows_dictionaries && has_dictionary;
  return has_dictionary ||
         std::ranges::any_of(schema.categorical,
                             [](const CategoricalColumn& column) {
                               const auto rule = ReadEdges(column.edges);
                               return rule.ok() && rule.value().quantiles > 0;
                             }) ||
         std::ranges::count(schema.dense, "standardise", &DenseColumn::transform) > 0;
}

Result<std::vector<std::string>> MakePreprocessing(const TextFormat& format,
                                                   const ConversionOptions& options,
                                                   uint32_t threads, const std::string& directory,
                                                   std::vector<std::string>* warnings) {
  RETURN_IF_ERROR(CheckColumns(format.schema()));
  Fitting fitting(format.schema(), options, threads, directory);
  std::vector<std::string> digests;
  if (HasFirstPass(format, options)) {
    ASSIGN_OR_RETURN(digests, CountChunks(format, options, threads, &fitting));
  }
  RETURN_IF_ERROR(fitting.Finish());
  *warnings = fitting.Warnings();
  return digests;
}

}  // namespace rowhouse
