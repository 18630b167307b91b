#include <algorithm>

#include "worker/data/blocks/data_writer.h"
#include "worker/data/blocks/encoded_block.h"
#include "worker/data/blocks/sample_split.h"
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

void CopyBags(const Bags& all, size_t first, size_t end, Bags* part) {
  const uint32_t begin = all.offsets[first], stop = all.offsets[end];
  CopyRange(all.ids, begin, stop, &part->ids);
  if (!all.weights.empty()) CopyRange(all.weights, begin, stop, &part->weights);
  part->offsets.resize(end - first + 1);
  for (size_t i = first; i <= end; ++i) part->offsets[i - first] = all.offsets[i] - begin;
}

// Overwrites *part with samples [first, end) of `all`.
void CopySamples(const Batch& all, size_t first, size_t end, Batch* part) {
  part->Clear(all.dense_features, all.features.size());
  part->samples = end - first;
  CopyRange(all.dense, first * all.dense_features, end * all.dense_features, &part->dense);
  if (!all.labels.empty()) CopyRange(all.labels, first, end, &part->labels);
  if (!all.weights.empty()) CopyRange(all.weights, first, end, &part->weights);
  for (size_t feature = 0; feature < all.features.size(); ++feature) {
    CopyBags(all.features[feature], first, end, &part->features[feature]);
  }
}

struct EncodedChunk {
  std::vector<EncodedBlock> blocks;
  std::vector<BadLine> bad_lines;
  size_t samples = 0;
};

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
      : preprocessing_(preprocessing), sync_bytes_(sync_bytes), state_(state), writer_(writer) {}

  // Forgets chunks in the journal whose blocks the writer does not have.
  Status KeepWrittenChunks() {
    size_t kept = 0;
    for (const ConvertedChunk& chunk : state_->chunks()) {
      if (next_block_ + chunk.blocks > writer_->blocks()) break;
      next_block_ += chunk.blocks;
      samples_ += chunk.samples;
      bad_lines_ += chunk.bad_lines;
      ++kept;
    }
    synced_bytes_ = writer_->bytes();
    return state_->KeepChunks(kept);
  }

  Status Write(const TextChunk& chunk, const EncodedChunk& encoded) {
    for (const EncodedBlock& block : encoded.blocks) {
      // After a crash the journal may lack an entry whose blocks the writer has.
      if (next_block_++ >= writer_->blocks()) RETURN_IF_ERROR(writer_->Append(block));
    }
    state_->Append({static_cast<uint32_t>(chunk.file), static_cast<uint32_t>(encoded.samples),
                    static_cast<uint32_t>(encoded.blocks.size()),
                    static_cast<uint32_t>(encoded.bad_lines.size())});
    return writer_->bytes() - synced_bytes_ < sync_bytes_ ? OkStatus() : Sync();
  }

  Status Sync() {
    synced_bytes_ = writer_->bytes();
    // Those of large vocabularies would fill the memory.
    preprocessing_.ReleasePages();
    RETURN_IF_ERROR(state_->Sync());
    return writer_->Sync();
  }

  // That an earlier call has written.
  uint64_t samples_before() const { return samples_; }
  uint64_t bad_lines_before() const { return bad_lines_; }

 private:
  const Preprocessing& preprocessing_;
  const uint64_t sync_bytes_;
  ConversionState* const state_;
  DataWriter* const writer_;
  uint64_t next_block_ = 0;
  uint64_t synced_bytes_ = 0;
  uint64_t samples_ = 0, bad_lines_ = 0;
};

// Gives origins their samples. kUsage if the first pass has read other bytes.
Status CompleteOrigins(const std::vector<DataOrigin>& counted, const ConversionState& state,
                       std::vector<DataOrigin>* origins) {
  for (size_t file = 0; file < counted.size(); ++file) {
    if ((*origins)[file].digest == counted[file].digest) continue;
    return UsageError("\"{}\" has changed while it was converted: remove \"{}\" and begin anew",
                      counted[file].file, state.directory());
  }
  for (const ConvertedChunk& chunk : state.chunks()) {
    (*origins)[chunk.file].samples += chunk.samples;
  }
  return OkStatus();
}

// A last line without a line end counts.
uint64_t LinesOf(const std::string& bytes) {
  const auto ends = static_cast<uint64_t>(std::ranges::count(bytes, '\n'));
  return ends + (!bytes.empty() && bytes.back() != '\n' ? 1 : 0);
}

// Samples of the first `lines` lines of the chunk, which has more.
Result<uint64_t> SamplesOfLines(const TextFormat& format, const TextChunk& chunk, uint64_t lines) {
  if (lines == 0) return 0;
  TextChunk part = chunk;
  size_t end = 0;
  for (uint64_t line = 0; line < lines; ++line) end = chunk.bytes.find('\n', end) + 1;
  part.bytes.resize(end);
  Batch raw;
  std::vector<BadLine> bad;
  RETURN_IF_ERROR(format.Parse(part, &raw, &bad));
  return raw.samples;
}

// The days of a single file of which a format drops lines: cut by lines, as DLRM cuts Kaggle's file
// before it drops any.
// DataOrigin::day_samples of the only file of `options`, whose chunks have given so many samples
// each: what Parse keeps of the lines of each day. Reads the file once more, and parses at most
// seven of its chunks. kUsage as TextChunks.
Result<std::vector<uint64_t>> DaySamples(const TextFormat& format, const ConversionOptions& options,
                                         const std::vector<uint64_t>& chunk_samples) {
  const auto open = [&] {
    return TextChunks::Open(options.files, format.has_quotes(), options.chunk_bytes);
  };
  // Stops between chunks, as a conversion does.
  const auto next = [&](TextChunks* chunks, TextChunk* chunk) -> Result<bool> {
    if (options.hooks.stop != nullptr && *options.hooks.stop) {
      return MakeStatus(StatusCode::kUnavailable, "stopped while lines of days were counted");
    }
    return chunks->Next(chunk);
  };
  ASSIGN_OR_RETURN(TextChunks counted, open());
  std::vector<uint64_t> first_lines = {0};  // of each chunk; then the number of lines
  for (TextChunk chunk;;) {
    ASSIGN_OR_RETURN(const bool is_there, next(&counted, &chunk));
    if (!is_there) break;
    first_lines.push_back(first_lines.back() + LinesOf(chunk.bytes));
  }
  CHECK_EQ(first_lines.size() - 1, chunk_samples.size());

  ASSIGN_OR_RETURN(TextChunks chunks, open());
  const std::vector<uint64_t> sizes = DaySizes(first_lines.back());
  std::vector<uint64_t> days;
  uint64_t day_end = sizes[0], before = 0, given = 0;  // samples of chunks before, and of days
  TextChunk chunk;
  for (size_t i = 0; i < chunk_samples.size(); ++i) {
    ASSIGN_OR_RETURN(const bool is_there, next(&chunks, &chunk));
    CHECK(is_there);
    // The last day has what is left.
    while (days.size() + 1 < sizes.size() && day_end < first_lines[i + 1]) {
      ASSIGN_OR_RETURN(const uint64_t samples,
                       SamplesOfLines(format, chunk, day_end - first_lines[i]));
      days.push_back(before + samples - given);
      given = before + samples;
      day_end += sizes[days.size()];
    }
    before += chunk_samples[i];
  }
  // Days that end where the text does, and the last.
  while (days.size() < sizes.size()) {
    days.push_back(before - given);
    given = before;
  }
  return days;
}

}  // namespace

Status WriteData(const TextFormat& format, const ConversionOptions& options, uint32_t threads,
                 const std::vector<DataOrigin>& counted,
                 const std::shared_ptr<const Preprocessing>& preprocessing, ConversionState* state,
                 ConversionSummary* summary) {
  const DataColumns columns = ColumnsOf(*preprocessing);
  ASSIGN_OR_RETURN(const auto writer, DataWriter::Open(state->data_path(), columns));
  ChunkWriter chunk_writer(*preprocessing, options.sync_bytes, state, writer.get());
  RETURN_IF_ERROR(chunk_writer.KeepWrittenChunks());
  ASSIGN_OR_RETURN(TextChunks chunks,
                   TextChunks::Open(options.files, format.has_quotes(), options.chunk_bytes));
  RETURN_IF_ERROR(chunks.SkipTo(state->chunks().size()));

  const int passes = HasFirstPass(format, options) ? 2 : 1;
  PassProgress progress(options.hooks, {.pass = passes,
                                        .passes = passes,
                                        .bytes = chunks.bytes_total(),
                                        .samples = chunk_writer.samples_before(),
                                        .bad_lines = chunk_writer.bad_lines_before()});
  BadLineCount bad_lines(options.max_bad_lines, chunk_writer.bad_lines_before());
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

  std::vector<DataOrigin> origins = chunks.origins();
  RETURN_IF_ERROR(CompleteOrigins(counted, *state, &origins));
  if (writer->samples() == 0) {
    return UsageError("\"{}\" is empty: there is nothing to train on", options.files.front());
  }
  if (TextFormats().DeclarationOf(format.schema().format).may_drop_lines && origins.size() == 1) {
    origins[0].day_samples = DaySizes(origins[0].samples);
  }
  if (format.drops_lines() && origins.size() == 1) {
    std::vector<uint64_t> samples;
    for (const ConvertedChunk& chunk : state->chunks()) samples.push_back(chunk.samples);
    ASSIGN_OR_RETURN(origins[0].day_samples, DaySamples(format, options, samples));
  }
  RETURN_IF_ERROR(LinkPreprocessing(*preprocessing, writer->partial_path()));
  summary->samples = writer->samples();
  summary->resumed_samples = chunk_writer.samples_before();
  summary->blocks = writer->blocks();
  summary->bytes = writer->bytes();
  summary->text_bytes = chunks.text_bytes();
  summary->bad_lines = bad_lines.count();
  summary->bad_line_examples = bad_lines.examples();
  return writer->Finish(origins, preprocessing->digest());
}

}  // namespace rowhouse
