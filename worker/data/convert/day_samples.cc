#include <algorithm>

#include "worker/data/blocks/sample_split.h"
#include "worker/data/convert/passes.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

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

}  // namespace

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

}  // namespace rowhouse
