#include "worker/data/text/criteo_counts.h"

#include <algorithm>

#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

void TokenSet::Add(uint32_t token) {
  std::vector<uint16_t>& part = parts_[token >> 16];
  const auto low = static_cast<uint16_t>(token);
  if (part.size() < kBitWords) {
    const auto at = std::lower_bound(part.begin(), part.end(), low);
    if (at != part.end() && *at == low) return;
    ++size_;
    part.insert(at, low);
    if (part.size() < kBitWords) return;
    std::vector<uint16_t> bits(kBitWords);
    for (const uint16_t one : part) bits[one >> 4] |= static_cast<uint16_t>(1u << (one & 15));
    part = std::move(bits);
    return;
  }
  const auto bit = static_cast<uint16_t>(1u << (low & 15));
  if ((part[low >> 4] & bit) != 0) return;
  part[low >> 4] |= bit;
  ++size_;
}

Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(options.file));
  ASSIGN_OR_RETURN(const std::unique_ptr<TextFormat> format,
                   MakeTextFormat("criteo", options, files));
  ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files, format->has_quotes()));
  if (!chunks.can_be_read_again()) {
    return UsageError(
        "\"{}\" can be read only once, and training reads its data more than once: give a file",
        options.file);
  }
  std::vector<TokenSet> seen(format->schema().categorical.size());
  TextChunk chunk;
  Batch raw;
  std::vector<BadLine> bad;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, chunks.Next(&chunk));
    if (!more) break;
    RETURN_IF_ERROR(format->Parse(chunk, &raw, &bad));
    if (bad.size() > options.max_bad_lines) return UsageError("{}", bad[0].message);
    for (size_t k = 0; k < seen.size(); ++k) {
      const uint64_t range = format->schema().categorical[k].max_ind_range;
      for (uint64_t token : raw.features[k].ids) {
        if (range > 0) token %= range;
        seen[k].Add(static_cast<uint32_t>(token));
      }
    }
  }
  std::vector<uint64_t> rows;
  for (const TokenSet& tokens : seen) rows.push_back(tokens.size());
  if (rows.front() == 0) {
    return UsageError("\"{}\" is empty: there is nothing to train on", options.file);
  }
  return rows;
}

}  // namespace rowhouse
