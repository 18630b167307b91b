#include "worker/data/convert/converter.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>

#include "common/durable_file.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/convert/conversion_state.h"
#include "worker/data/convert/passes.h"
#include "worker/data/mapping/multi_hot.h"
#include "worker/data/mapping/schema_json.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;
using SteadyClock = std::chrono::steady_clock;

// Threads that work on the text. Each has a chunk, its samples as they are and as they are mapped,
// and up to three encoded pieces: about six times the text, whose samples have 160 bytes
// or more. Each id that multi-hot bags add to a sample takes 20 bytes more.
uint32_t ThreadsFor(const Schema& schema, const ConversionOptions& options) {
  cpu_set_t cores;
  const int allowed = ::sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
  const uint64_t wanted = options.threads > 0 ? options.threads : static_cast<uint64_t>(allowed);
  const std::vector<uint64_t>& sizes = schema.multi_hot.sizes;
  const uint64_t times = 6 + std::accumulate(sizes.begin(), sizes.end(), uint64_t{0}) / 8;
  const uint64_t most = options.memory_bytes / 2 / (times * options.chunk_bytes);
  return static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, std::max<uint64_t>(1, most)));
}

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// Everything that decides the bytes of the result.
Result<ordered_json> IdentityOf(const TextFormat& format, const ConversionOptions& options) {
  ordered_json identity;
  identity["files"] = options.files;
  for (const std::string& file : options.files) {
    ASSIGN_OR_RETURN(identity["file " + file], FileIdentity(file));
  }
  if (const std::string side = format.side_digest(); !side.empty()) identity["side_files"] = side;
  identity["schema"] = ToJson(format.schema());
  identity["preprocessing"] = options.preprocessing ? options.preprocessing->digest() : "";
  if (options.grows_dictionaries) identity["grows_dictionaries"] = true;
  identity["takes_bad_ids"] = options.takes_bad_ids;
  identity["other_settings"] = options.other_settings;
  identity["block_samples"] = options.block_samples;
  identity["chunk_bytes"] = options.chunk_bytes;
  return identity;
}

// It was killed between the last two things that it does.
bool IsRenamedOnly(const std::string& out) {
  return DataDirectory::IsAt(out) && ConversionState::IsThere(out);
}

Status CheckOptions(const TextFormat& format, const ConversionOptions& options) {
  CHECK_GT(options.block_samples, 0u);
  CHECK_GT(options.chunk_bytes, 0u);
  if (options.files.empty()) return UsageError("there is no file to convert");
  if (std::ranges::count(options.files, "-") > 0) {
    return UsageError(
        "standard input cannot be converted, because files are read twice and a conversion that "
        "was killed goes on in them: write it to a file first");
  }
  if (fs::exists(fs::symlink_status(options.out)) && !IsRenamedOnly(options.out)) {
    return UsageError("\"{}\" exists already: remove it, or choose another name", options.out);
  }
  const Schema& mapped =
      options.preprocessing != nullptr ? options.preprocessing->schema() : format.schema();
  RETURN_IF_ERROR(CheckMultiHotMemory(mapped));
  if (options.preprocessing != nullptr) {
    return CheckSameColumns(format.schema(), options.preprocessing->schema());
  }
  for (const CategoricalColumn& column : format.schema().categorical) {
    if (column.ids == "dictionary" || column.is_bucket() || column.rows > 0) continue;
    return UsageError(
        "column {}: ids by {} need the rows of its table, which is not known: give a config with "
        "tables, or let a dictionary decide (ids: dictionary in section schema, or "
        "--id_mapping=dictionary)",
        column.name, column.ids);
  }
  return OkStatus();
}

// The preprocessing in the state's directory, which is made if it is not there.
Result<std::shared_ptr<const Preprocessing>> FirstPass(const TextFormat& format,
                                                       const ConversionOptions& options,
                                                       uint32_t threads,
                                                       const ConversionState& state,
                                                       std::vector<std::string>* counted,
                                                       std::vector<std::string>* warnings) {
  state.RemoveSpills();
  if (Preprocessing::IsIn(state.directory())) return Preprocessing::Open(state.directory());
  if (options.preprocessing != nullptr && !HasFirstPass(format, options)) {
    RETURN_IF_ERROR(LinkPreprocessing(*options.preprocessing, state.directory()));
  } else {
    ASSIGN_OR_RETURN(*counted,
                     MakePreprocessing(format, options, threads, state.directory(), warnings));
  }
  return Preprocessing::Open(state.directory());
}

// Of one that was killed after its data were finished.
Result<ConversionSummary> FinishConversion(const std::string& out, ConversionState* state) {
  RETURN_IF_ERROR(state->Finish());
  ASSIGN_OR_RETURN(const auto data, DataDirectory::Open(out));
  ConversionSummary summary;
  summary.samples = summary.resumed_samples = data->samples();
  summary.blocks = data->blocks();
  return summary;
}

}  // namespace

Result<ConversionSummary> Convert(const TextFormat& format, const ConversionOptions& options) {
  RETURN_IF_ERROR(CheckOptions(format, options));
  ASSIGN_OR_RETURN(const ordered_json identity, IdentityOf(format, options));
  ASSIGN_OR_RETURN(const auto state, ConversionState::Open(options.out, identity));
  if (state->is_data_finished() || IsRenamedOnly(options.out)) {
    return FinishConversion(options.out, state.get());
  }

  ConversionSummary summary;
  const Schema& mapped =
      options.preprocessing != nullptr ? options.preprocessing->schema() : format.schema();
  const uint32_t threads = ThreadsFor(mapped, options);
  const auto begin = SteadyClock::now();
  std::vector<std::string> counted;
  ASSIGN_OR_RETURN(const auto preprocessing,
                   FirstPass(format, options, threads, *state, &counted, &summary.warnings));
  for (size_t column = 0; column < preprocessing->schema().categorical.size(); ++column) {
    summary.tokens.push_back(preprocessing->tokens(column));
  }
  summary.first_pass_seconds = SecondsSince(begin);

  const auto second = SteadyClock::now();
  RETURN_IF_ERROR(
      WriteData(format, options, threads, counted, preprocessing, state.get(), &summary));
  RETURN_IF_ERROR(state->Finish());
  summary.second_pass_seconds = SecondsSince(second);
  return summary;
}

}  // namespace rowhouse
