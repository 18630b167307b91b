#include "worker/data/convert/fitting.h"
#include "worker/data/convert/ordered_chunks.h"
#include "worker/data/convert/passes.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

struct CountedChunk {
  std::vector<Moments> moments;
  std::vector<BadLine> bad_lines;
  size_t samples = 0;
};

Result<std::vector<DataOrigin>> CountChunks(const TextFormat& format,
                                            const ConversionOptions& options, uint32_t threads,
                                            Fitting* fitting) {
  ASSIGN_OR_RETURN(TextChunks chunks,
                   TextChunks::Open(options.files, format.has_quotes(), options.chunk_bytes));
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
  return chunks.origins();
}

}  // namespace

bool HasFirstPass(const TextFormat& format, const ConversionOptions& options) {
  return options.preprocessing == nullptr && Fitting::IsNeeded(format.schema());
}

Result<std::vector<DataOrigin>> MakePreprocessing(const TextFormat& format,
                                                  const ConversionOptions& options,
                                                  uint32_t threads, const std::string& directory,
                                                  std::vector<std::string>* warnings) {
  Fitting fitting(format.schema(), {.directory = directory,
                                    .threads = threads,
                                    .memory_bytes = options.memory_bytes / 2,
                                    .takes_bad_ids = options.takes_bad_ids,
                                    .source = options.files.front()});
  std::vector<DataOrigin> origins;
  if (HasFirstPass(format, options)) {
    ASSIGN_OR_RETURN(origins, CountChunks(format, options, threads, &fitting));
  }
  RETURN_IF_ERROR(fitting.Finish());
  *warnings = fitting.Warnings();
  return origins;
}

}  // namespace rowhouse
