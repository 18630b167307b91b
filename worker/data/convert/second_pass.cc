#include <algorithm>
#include <utility>

#include "worker/data/blocks/block.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/blocks/sample_order.h"
#include "worker/data/convert/ordered_chunks.h"
#include "worker/data/convert/passes.h"
#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

DataColumns ColumnsOf(const Preprocessing& preprocessing) {
  const Schema& schema = preprocessing.schema();
  DataColumns columns;
  columns.dense = DenseInputs(schema);
  for (size_t column = 0; column < schema.categorical.size(); ++column) {
    columns.categorical.push_back(schema.categorical[column].name);
    columns.rows.push_back(preprocessing.id_bound(column));
  }
  columns.has_weights = !schema.weight.empty();
  return columns;
}

template <typename T>
void CopyRange(const std::vector<T>& all, size_t first, size_t end, std::vector<T>* part) {
  part->assign(all.begin() + static_cast<ptrdiff_t>(first),
               all.begin() + static_cast<ptrdiff_t>(end));
}

// Overwrites *part with samples [first, end) of `all`.
void CopySamples(const Batch& all, size_t first, size_t end, Batch* part) {
  part->Clear(all.dense_features, all.features.size());
  part->samples = end - first;
  CopyRange(all.dense, first * all.dense_features, end * all.dense_features, &part->dense);
  if (!all.labels.empty()) CopyRange(all.labels, first, end, &part->labels);
  if (!all.weights.empty()) CopyRange(all.weights, first, end, &part->weights);
  for (size_t feature = 0; feature < all.features.size(); ++feature) {
    part->features[feature].Append(all.features[feature], first, end);
  }
}

struct EncodedChunk {
  std::vector<EncodedBlock> blocks;
  std::vector<BadLine> bad_lines;
  size_t samples = 0;
  uint64_t lines = 0;
};

// A last line without a line end counts.
uint64_t LinesOf(const std::string& bytes) {
  const auto ends = static_cast<uint64_t>(std::ranges::count(bytes, '\n'));
  return ends + (!bytes.empty() && bytes.back() != '\n' ? 1 : 0);
}

// Turns chunks of text into blocks. One of each thread.
class ChunkEncoder {
 public:
  ChunkEncoder(const TextFormat& format, const Preprocessing& preprocessing,
               const DataColumns& columns, uint64_t block_samples)
      : format_(&format),
        preprocessing_(&preprocessing),
        columns_(&columns),
        block_samples_(block_samples) {}

  Status Encode(const TextChunk& chunk, EncodedChunk* encoded) {
    encoded->bad_lines.clear();
    encoded->blocks.clear();
    RETURN_IF_ERROR(format_->Parse(chunk, &raw_, &encoded->bad_lines));
    RETURN_IF_ERROR(preprocessing_->Map(raw_, &mapped_));
    encoded->samples = mapped_.samples;
    encoded->lines = LinesOf(chunk.bytes);
    // Blocks of a chunk are of about the same size.
    const size_t parts = (mapped_.samples + block_samples_ - 1) / block_samples_;
    for (size_t part = 0; part < parts; ++part) {
      const size_t first = mapped_.samples * part / parts;
      const size_t end = mapped_.samples * (part + 1) / parts;
      const bool is_all = parts == 1;
      if (!is_all) CopySamples(mapped_, first, end, &part_);
      Result<EncodedBlock> block = EncodeBlock(*columns_, is_all ? mapped_ : part_);
      if (!block.ok()) {
        return block.status().Annotate(fmt::format("{}: samples of line {} and those behind it",
                                                   chunk.file_name, chunk.first_line));
      }
      encoded->blocks.push_back(std::move(block).value());
    }
    return OkStatus();
  }

 private:
  const TextFormat* format_;
  const Preprocessing* preprocessing_;
  const DataColumns* columns_;
  uint64_t block_samples_;
  Batch raw_, mapped_, part_;
};

// Appends the blocks of chunks, in order, and notes which chunks are done.
class ChunkWriter {
 public:
  ChunkWriter(const Preprocessing& preprocessing, uint64_t sync_bytes, ConversionState* state,
              DataWriter* writer)
      : preprocessing_(preprocessing),
        sync_bytes_(sync_bytes),
        state_(state),
        writer_(writer),
        synced_bytes_(writer->bytes()) {}

  Status Write(const TextChunk& chunk, const EncodedChunk& encoded) {
    ConvertedChunk done = {.file = static_cast<uint32_t>(chunk.file),
                           .lines = static_cast<uint32_t>(encoded.lines),
                           .samples = static_cast<uint32_t>(encoded.samples),
                           .bad_lines = static_cast<uint32_t>(encoded.bad_lines.size())};
    for (const EncodedBlock& block : encoded.blocks) {
      RETURN_IF_ERROR(writer_->Append(block));
      done.blocks.push_back(writer_->blocks().back());
    }
    state_->Append(std::move(done));
    return writer_->bytes() - synced_bytes_ < sync_bytes_ ? OkStatus() : Sync();
  }

  Status Sync() {
    synced_bytes_ = writer_->bytes();
    // Those of large vocabularies would fill the memory.
    preprocessing_.ReleasePages();
    RETURN_IF_ERROR(writer_->Sync());
    return state_->Sync();
  }

 private:
  const Preprocessing& preprocessing_;
  const uint64_t sync_bytes_;
  ConversionState* const state_;
  DataWriter* const writer_;
  uint64_t synced_bytes_;
};

// What an earlier call has written.
struct WrittenBefore {
  explicit WrittenBefore(const ConversionState& state) {
    for (const ConvertedChunk& chunk : state.chunks()) {
      blocks.insert(blocks.end(), chunk.blocks.begin(), chunk.blocks.end());
      samples += chunk.samples;
      bad_lines += chunk.bad_lines;
    }
  }

  std::vector<BlockPlace> blocks;
  uint64_t samples = 0, bad_lines = 0;
};

// The files and the samples of each. kUsage if the first pass has read other bytes.
Result<std::vector<DataOrigin>> OriginsOf(const ConversionOptions& options,
                                          const std::vector<std::string>& digests,
                                          const std::vector<std::string>& counted,
                                          const ConversionState& state) {
  std::vector<DataOrigin> origins;
  for (size_t file = 0; file < digests.size(); ++file) {
    if (!counted.empty() && digests[file] != counted[file]) {
      return UsageError("\"{}\" has changed while it was converted: remove \"{}\" and begin anew",
                        options.files[file], state.directory());
    }
    origins.push_back({.file = options.files[file], .digest = digests[file]});
  }
  for (const ConvertedChunk& chunk : state.chunks()) origins[chunk.file].samples += chunk.samples;
  return origins;
}

// Samples of the first `lines` lines of the chunk, which has more.
Result<uint64_t> SamplesOfLines(const TextFormat& format, TextChunk chunk, uint64_t lines) {
  size_t end = 0;
  for (uint64_t line = 0; line < lines; ++line) end = chunk.bytes.find('\n', end) + 1;
  chunk.bytes.resize(end);
  Batch raw;
  std::vector<BadLine> bad;
  RETURN_IF_ERROR(format.Parse(chunk, &raw, &bad));
  return raw.samples;
}

// DataOrigin::day_samples of the only file of `options`, of which the format has dropped lines: its
// days are cut by lines, as DLRM cuts Kaggle's file before it drops any. Reads the file once more,
// and parses at most seven of its chunks. kUsage as TextChunks.
Result<std::vector<uint64_t>> DaySamples(const TextFormat& format, const ConversionOptions& options,
                                         const std::vector<ConvertedChunk>& converted) {
  uint64_t lines = 0;
  for (const ConvertedChunk& chunk : converted) lines += chunk.lines;
  const std::vector<uint64_t> sizes = DaySizes(lines);
  ASSIGN_OR_RETURN(TextChunks chunks,
                   TextChunks::Open(options.files, format.records(), options.chunk_bytes));
  std::vector<uint64_t> days;
  uint64_t day_end = sizes[0], first_line = 0;
  uint64_t before = 0, given = 0;  // samples of chunks before, and of days
  TextChunk chunk;
  for (const ConvertedChunk& done : converted) {
    // Stops between chunks, as a conversion does.
    if (options.hooks.stop != nullptr && *options.hooks.stop) {
      return MakeStatus(StatusCode::kUnavailable, "stopped while lines of days were counted");
    }
    ASSIGN_OR_RETURN(const bool is_there, chunks.Next(&chunk));
    CHECK(is_there);
    // The last day has what is left.
    while (days.size() + 1 < sizes.size() && day_end < first_line + done.lines) {
      ASSIGN_OR_RETURN(const uint64_t samples, SamplesOfLines(format, chunk, day_end - first_line));
      days.push_back(before + samples - given);
      given = before + samples;
      day_end += sizes[days.size()];
    }
    before += done.samples;
    first_line += done.lines;
  }
  // Days that end where the text does, and the last.
  while (days.size() < sizes.size()) days.push_back(before - std::exchange(given, before));
  return days;
}

}  // namespace

Status WriteData(const TextFormat& format, const ConversionOptions& options, uint32_t threads,
                 const std::vector<std::string>& counted,
                 const std::shared_ptr<const Preprocessing>& preprocessing, ConversionState* state,
                 ConversionSummary* summary) {
  const DataColumns columns = ColumnsOf(*preprocessing);
  const WrittenBefore before(*state);
  ASSIGN_OR_RETURN(const auto writer, DataWriter::Open(state->data_path(), columns, before.blocks));
  ChunkWriter chunk_writer(*preprocessing, options.sync_bytes, state, writer.get());
  ASSIGN_OR_RETURN(TextChunks chunks,
                   TextChunks::Open(options.files, format.records(), options.chunk_bytes));
  RETURN_IF_ERROR(chunks.SkipTo(state->chunks().size()));

  const int passes = HasFirstPass(format, options) ? 2 : 1;
  PassProgress progress(options.hooks, {.pass = passes,
                                        .passes = passes,
                                        .bytes = chunks.bytes_total(),
                                        .samples = before.samples,
                                        .bad_lines = before.bad_lines});
  BadLineCount bad_lines(options.max_bad_lines, before.bad_lines);
  std::vector<ChunkEncoder> encoders(
      threads, ChunkEncoder(format, *preprocessing, columns, options.block_samples));
  OrderedChunks<EncodedChunk> pass(
      &chunks,
      {.threads = threads,
       .stop = options.hooks.stop,
       .tick = [&](uint64_t bytes_done) { progress.Tick(bytes_done); }},
      [&](const TextChunk& chunk, uint32_t thread, EncodedChunk* encoded) {
        return encoders[thread].Encode(chunk, encoded);
      },
      [&](const TextChunk& chunk, EncodedChunk* encoded) {
        RETURN_IF_ERROR(bad_lines.Add(encoded->bad_lines));
        progress.Add(encoded->samples, encoded->bad_lines.size());
        return chunk_writer.Write(chunk, *encoded);
      });
  const Status status = pass.Run();
  // What was done before a stop or an error stays done.
  const Status synced = chunk_writer.Sync();
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(synced);

  ASSIGN_OR_RETURN(std::vector<DataOrigin> origins,
                   OriginsOf(options, chunks.digests(), counted, *state));
  if (writer->blocks().empty()) {
    return UsageError("\"{}\" is empty: there is nothing to train on", options.files.front());
  }
  if (format.drops_lines() && origins.size() == 1) {
    ASSIGN_OR_RETURN(origins[0].day_samples, DaySamples(format, options, state->chunks()));
  }
  RETURN_IF_ERROR(LinkPreprocessing(*preprocessing, state->data_path()));
  for (const DataOrigin& origin : origins) summary->samples += origin.samples;
  summary->resumed_samples = before.samples;
  summary->blocks = writer->blocks().size();
  summary->bytes = writer->bytes();
  summary->text_bytes = chunks.text_bytes();
  summary->bad_lines = bad_lines.count();
  summary->bad_line_examples = bad_lines.examples();
  return writer->Finish(origins, preprocessing->digest());
}

}  // namespace rowhouse
