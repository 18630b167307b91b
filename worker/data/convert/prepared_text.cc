#include "worker/data/convert/prepared_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "worker/data/blocks/converted_dataset.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/buckets.h"
#include "worker/data/convert/conversion_state.h"
#include "worker/data/mapping/schema_json.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTemporary = "rowhouse-data";
// Raised when the same text gives other bytes.
constexpr int kCacheVersion = 3;
// For another run that prepares the same text.
constexpr auto kLongestWait = std::chrono::hours(24);

int OpenToLock(const std::string& path, int flags) {
  return open(path.c_str(), flags | O_CLOEXEC, 0666);
}

// How many different 32-bit tokens there are, exactly, in 2 bytes a token and at most 512 MiB: a
// set of 16-bit halves for each upper half, as a sorted array or, when that would be larger, as
// bits. After Roaring bitmaps (Chambi, Lemire et al., 2016).
class TokenSet {
 public:
  void Add(uint32_t token) {
    std::vector<uint16_t>& part = parts_[token >> 16];
    const auto low = static_cast<uint16_t>(token);
    const auto bit = static_cast<uint16_t>(1u << (low & 15));
    if (part.size() == kBitWords) {
      size_ += (part[low >> 4] & bit) == 0;
      part[low >> 4] |= bit;
      return;
    }
    const auto at = std::ranges::lower_bound(part, low);
    if (at != part.end() && *at == low) return;
    ++size_;
    part.insert(at, low);
    if (part.size() < kBitWords) return;
    std::vector<uint16_t> bits(kBitWords);
    for (const uint16_t one : part) bits[one >> 4] |= static_cast<uint16_t>(1u << (one & 15));
    part = std::move(bits);
  }

  uint64_t size() const { return size_; }

 private:
  static constexpr size_t kParts = size_t{1} << 16;
  static constexpr size_t kBitWords = kParts / 16;  // 16-bit words of a part that is bits

  // By upper half: sorted, or kBitWords words of bits.
  std::vector<std::vector<uint16_t>> parts_ = std::vector<std::vector<uint16_t>>(kParts);
  uint64_t size_ = 0;
};

// The different pairs of a cross, in 8 to 16 bytes a pair.
class PairSet {
 public:
  explicit PairSet(const Cross& cross) : cross_(cross) {}

  void Add(const Batch& raw) {
    const Bags pairs = cross_.Of(raw);
    keys_.insert(keys_.end(), pairs.ids.begin(), pairs.ids.end());
    constexpr size_t kFew = size_t{1} << 20;
    if (keys_.size() > std::max(kFew, 2 * different_)) size();
  }

  uint64_t size() {
    std::ranges::sort(keys_);
    keys_.erase(std::ranges::unique(keys_).begin(), keys_.end());
    return different_ = keys_.size();
  }

 private:
  const Cross cross_;
  std::vector<uint64_t> keys_;
  size_t different_ = 0;  // of keys_ when they were last sorted
};

// The crosses of a schema, nullopt for its other columns. kUsage for one of buckets whose edges the
// data decide: they are not known before all are read.
Result<std::vector<std::optional<PairSet>>> CrossesOf(Schema schema) {
  for (CategoricalColumn& column : schema.categorical) {
    if (!column.is_bucket()) continue;
    ASSIGN_OR_RETURN(EdgeRule rule, ReadEdges(column.edges));
    column.edge_values = std::move(rule.edges);
  }
  std::vector<std::optional<PairSet>> crosses(schema.categorical.size());
  for (size_t k = 0; k < crosses.size(); ++k) {
    const CategoricalColumn& column = schema.categorical[k];
    if (!column.is_cross()) continue;
    for (const CategoricalColumn& of : schema.categorical) {
      const bool is_of = std::ranges::count(column.cross, of.name) > 0;
      if (!is_of || !of.is_bucket() || !of.edge_values.empty()) continue;
      return UsageError(
          "schema: rows of cross \"{}\" are not counted, as the data decide the edges of \"{}\"; "
          "give the edges, or the rows of all tables in section tables of --config",
          column.name, of.name);
    }
    crosses[k].emplace(Cross(schema, k));
  }
  return crosses;
}

// "PATH IDENTITY\n" of each file.
Result<std::string> DescribeFiles(const std::string& list) {
  if (list.empty()) return std::string();
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(list));
  std::string text;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::string identity, FileIdentity(file));
    text += fmt::format("{} {}\n", fs::absolute(file).lexically_normal().string(), identity);
  }
  return text;
}

// Everything that decides the bytes of the data directory.
Result<std::string> NameInCache(const std::string& source, const DatasetOptions& options) {
  ASSIGN_OR_RETURN(std::string text, DescribeFiles(options.file));
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(options.file));
  ASSIGN_OR_RETURN(const auto format, MakeTextFormat(source, options, files));
  text += format->side_digest();
  if (!DataDirectory::IsAt(options.held_out.test_file)) {
    ASSIGN_OR_RETURN(const std::string of_test, DescribeFiles(options.held_out.test_file));
    text += "test\n" + of_test;
  }
  text += fmt::format(
      "version {} source {} schema {} seed {} rows {} names {} bad ids {} bad lines {} "
      "preprocessing "
      "{}",
      kCacheVersion, source, DumpJson(ToJson(options.text.schema)), options.seed,
      fmt::join(options.shape.table_rows, ","), fmt::join(options.shape.table_names, ","),
      fmt::join(options.shape.takes_bad_ids, ","), options.text.max_bad_lines,
      options.text.preprocessing == nullptr ? "none" : options.text.preprocessing->digest());
  if (options.text.grow_dictionaries) text += " grows";
  OptionValues values = OnlyDeclared(DeclarationOfDataset(source).flags, options.flags);
  values.insert(options.own.begin(), options.own.end());
  for (const auto& [name, value] : values) text += fmt::format(" {}={}", name, value);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Waits until no other process prepares the same text.
Status WaitForLock(int lock, const std::string& path, const ConversionHooks& hooks) {
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  while (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return StatusFromErrno(errno, "lock", path);
    if (hooks.stop != nullptr && *hooks.stop) {
      return MakeStatus(StatusCode::kUnavailable, "stopped while another run prepared {}", path);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return MakeStatus(StatusCode::kDeadlineExceeded,
                        "another run has been preparing {} for a day; end it, or give another "
                        "--data_cache",
                        path);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return OkStatus();
}

Result<std::unique_ptr<Dataset>> OpenText(const std::string& source, DatasetOptions options) {
  if (!options.text.prepared.empty()) return MakeConvertedDataset(options.text.prepared, options);
  ASSIGN_OR_RETURN(std::shared_ptr<PreparedText> text, PreparedText::Make(source, options));
  options.text.prepared = text->directory();
  options.text.prepared_test = text->test_directory();
  return MakeConvertedDataset(options.text.prepared, options, text);
}

}  // namespace

bool AddTextDataset(const std::string& name, DatasetDeclaration declaration) {
  declaration.reads_file = declaration.reads_text = true;
  if (declaration.why_untested == &DatasetDeclaration::NothingToSay) {
    declaration.why_untested = &WhyNothingIsHeldOut;
  }
  const auto adjust = declaration.adjust;
  return AddDataset(name, std::move(declaration), [name, adjust](const DatasetOptions& given) {
    DatasetOptions options = given;
    adjust(&options);
    return OpenText(name, std::move(options));
  });
}

Result<TextConversion> MakeTextConversion(const std::string& source, const DatasetOptions& options,
                                          const std::string& directory) {
  if (options.file.empty()) return UsageError("no file: --data names the text to read");
  TextConversion conversion;
  ConversionOptions& made = conversion.options;
  ASSIGN_OR_RETURN(made.files, ExpandFiles(options.file));
  ASSIGN_OR_RETURN(conversion.format, MakeTextFormat(source, options, made.files));
  // What cannot be opened, or is no text, is told before anything is made.
  RETURN_IF_ERROR(TextChunks::Open(made.files, conversion.format->records()).status());
  made.out = directory;
  made.max_bad_lines = options.text.max_bad_lines;
  made.preprocessing = options.text.preprocessing;
  made.grows_dictionaries = options.text.grow_dictionaries && options.text.preprocessing != nullptr;
  made.takes_bad_ids = options.shape.takes_bad_ids;
  made.other_settings = source;
  if (!options.own.empty()) made.other_settings += fmt::format(" seed={}", options.seed);
  for (const auto& [name, value] : options.own) {
    made.other_settings += fmt::format(" {}={}", name, value);
  }
  return conversion;
}

Status PrepareText(const std::string& source, const DatasetOptions& options,
                   const std::string& directory, const ConversionHooks& hooks) {
  if (DataDirectory::IsAt(directory)) return OkStatus();
  ASSIGN_OR_RETURN(TextConversion conversion, MakeTextConversion(source, options, directory));
  // A text whose columns are not the model's is refused before it is read.
  const Schema& schema = conversion.format->schema();
  DataColumns columns = {.dense = DenseInputs(schema)};
  for (const CategoricalColumn& column : schema.categorical) {
    columns.categorical.push_back(column.name);
    columns.rows.push_back(column.rows);
  }
  RETURN_IF_ERROR(FitColumns(options.file, columns, options.shape, options.text.schema).status());
  conversion.options.hooks = hooks;
  ASSIGN_OR_RETURN(const ConversionSummary made, Convert(*conversion.format, conversion.options));
  if (hooks.done != nullptr) hooks.done(made);
  return OkStatus();
}

Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(options.file));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextFormat> format,
                   MakeTextFormat("criteo", options, files));
  ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files, format->records()));
  if (!chunks.can_be_read_again()) {
    return UsageError(
        "\"{}\" can be read only once, and training reads its data more than once: give a file",
        options.file);
  }
  const std::vector<CategoricalColumn>& columns = format->schema().categorical;
  ASSIGN_OR_RETURN(std::vector<std::optional<PairSet>> crosses, CrossesOf(format->schema()));
  std::vector<TokenSet> seen(columns.size());
  TextChunk chunk;
  Batch raw;
  std::vector<BadLine> bad;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, chunks.Next(&chunk));
    if (!more) break;
    RETURN_IF_ERROR(format->Parse(chunk, &raw, &bad));
    if (bad.size() > options.text.max_bad_lines) return UsageError("{}", bad[0].message);
    for (size_t k = 0; k < seen.size(); ++k) {
      if (crosses[k]) crosses[k]->Add(raw);
      if (columns[k].is_derived()) continue;
      const uint64_t range = columns[k].max_ind_range;
      for (uint64_t token : raw.features[k].ids) {
        if (range > 0) token %= range;
        seen[k].Add(static_cast<uint32_t>(token));
      }
    }
  }
  const auto is_empty = [](const TokenSet& tokens) { return tokens.size() == 0; };
  if (std::ranges::all_of(seen, is_empty)) {
    return UsageError("\"{}\" is empty: there is nothing to train on", options.file);
  }
  std::vector<uint64_t> rows;
  for (size_t k = 0; k < seen.size(); ++k) {
    rows.push_back(seen[k].size());
    if (crosses[k]) rows.back() = std::max<uint64_t>(1, KeptRows(columns[k]) + crosses[k]->size());
    if (!columns[k].is_bucket()) continue;
    ASSIGN_OR_RETURN(const EdgeRule edges, ReadEdges(columns[k].edges));
    rows.back() = edges.max_buckets() + 1;
  }
  return rows;
}

Result<PreparedText::Place> PreparedText::MakeTemporary() {
  TemporaryDirectory::RemoveLeftOver(kTemporary);
  Result<std::unique_ptr<TemporaryDirectory>> made = TemporaryDirectory::Make(kTemporary);
  if (!made.ok()) {
    return UsageError("the prepared data: {}; give --data_cache or set TMPDIR",
                      made.status().message());
  }
  Place place{.temporary = std::move(made).value()};
  place.path = place.temporary->path();
  return place;
}

Result<PreparedText::Place> PreparedText::FindInCache(const std::string& source,
                                                      const DatasetOptions& options,
                                                      const ConversionHooks& hooks) {
  Status made = MakeDirectoryDurably(options.text.cache);
  if (!made.ok()) {
    return UsageError("--data_cache: {}; give a directory that can be written", made.message());
  }
  ASSIGN_OR_RETURN(const std::string name, NameInCache(source, options));
  Place place{.path = options.text.cache + "/" + name, .temporary = nullptr};
  const std::string lock = place.path + ".lock";
  place.lock = OpenToLock(lock, O_RDWR | O_CREAT | O_NOFOLLOW);
  if (place.lock < 0) {
    return UsageError("--data_cache: cannot make {}: {}; give a directory that can be written",
                      lock, std::strerror(errno));
  }
  Status waited = WaitForLock(place.lock, place.path, hooks);
  if (waited.ok()) waited = MakeDirectoryDurably(place.path);
  if (waited.ok()) return place;
  close(place.lock);
  return waited;
}

Result<std::unique_ptr<PreparedText>> PreparedText::Make(const std::string& source,
                                                         const DatasetOptions& options,
                                                         const ConversionHooks& hooks) {
  ASSIGN_OR_RETURN(Place place, options.text.cache.empty() ? MakeTemporary()
                                                           : FindInCache(source, options, hooks));
  std::unique_ptr<PreparedText> text(new PreparedText(std::move(place)));
  Status prepared = text->Prepare(source, options, hooks);
  if (prepared.code() == StatusCode::kResourceExhausted && text->place_.temporary != nullptr) {
    prepared = MakeStatus(prepared.code(),
                          "{}. The prepared data of this run need room in {}: make some, or name "
                          "another disk by --data_cache or TMPDIR",
                          prepared.message(), text->place_.path);
  }
  RETURN_IF_ERROR(prepared);
  // Others may read what is whole.
  if (text->place_.temporary == nullptr) flock(text->place_.lock, LOCK_UN);
  return text;
}

Status PreparedText::Prepare(const std::string& source, const DatasetOptions& options,
                             const ConversionHooks& hooks) {
  directory_ = place_.path + "/data";
  RETURN_IF_ERROR(PrepareText(source, options, directory_, hooks));
  if (options.held_out.test_file.empty()) return OkStatus();
  if (DataDirectory::IsAt(options.held_out.test_file)) {
    test_directory_ = options.held_out.test_file;
    return OkStatus();
  }
  DatasetOptions of_test = options;
  of_test.file = options.held_out.test_file;
  of_test.held_out.test_file.clear();
  // The test samples choose no tokens.
  of_test.text.grow_dictionaries = false;
  if ((of_test.text.preprocessing == nullptr || options.text.grow_dictionaries) &&
      Preprocessing::IsIn(directory_)) {
    ASSIGN_OR_RETURN(of_test.text.preprocessing, Preprocessing::Open(directory_));
  }
  test_directory_ = place_.path + "/test";
  return PrepareText(source, of_test, test_directory_, hooks).Annotate("--test_data");
}

PreparedText::~PreparedText() {
  if (place_.lock >= 0) close(place_.lock);
}

void PreparedText::DropSamples() {
  if (place_.temporary == nullptr) return;
  std::error_code ignored;
  for (const std::string& directory : {directory_, test_directory_}) {
    if (!directory.starts_with(place_.path)) continue;
    for (const char* file : {"samples.bin", "data.json"}) {
      fs::remove(directory + "/" + file, ignored);
    }
  }
}

}  // namespace rowhouse
