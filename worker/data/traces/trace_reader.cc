#include "worker/data/traces/trace_reader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "worker/data/text/byte_stream.h"

namespace rowhouse {
namespace {

// Parts of several workers, in their order; none: there are none.
std::vector<std::string> PartsOf(const std::string& path) {
  std::vector<std::string> parts;
  std::error_code error;
  for (size_t worker = 0;; ++worker) {
    const std::string part = fmt::format("{}.{}", path, worker);
    if (!std::filesystem::exists(part, error)) return parts;
    parts.push_back(part);
  }
}

Result<std::string> HeadOf(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(path));
  std::string head(32, '\0');
  ASSIGN_OR_RETURN(const size_t bytes, stream->Read(head.data(), head.size()));
  head.resize(bytes);
  return head;
}

// A ZIP archive, as torch.save writes since 1.6, or a pickle, as it did before.
bool LooksLikeTorch(std::string_view head) {
  return head.starts_with("PK\x03\x04") ||
         (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5);
}

}  // namespace

void BagFigures::Add(const Bags& whole) {
  bags += whole.samples();
  lookups += whole.ids.size();
  for (size_t s = 0; s < whole.samples(); ++s) {
    const uint64_t length = whole.offsets[s + 1] - whole.offsets[s];
    empty_bags += length == 0 ? 1 : 0;
    longest_bag = std::max(longest_bag, length);
  }
}

Result<std::unique_ptr<TraceReader>> OpenTrace(const std::string& path) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  const std::vector<std::string> parts = PartsOf(path);
  if (is_there && !parts.empty()) {
    return UsageError("{} and {} are both there, traces of one worker and of several; remove one",
                      path, parts[0]);
  }
  if (!parts.empty()) return OpenRecordedTrace(parts);
  if (std::filesystem::is_fifo(path, error)) {
    return UsageError("{}: is a pipe; a trace is read twice, so write it to a file first", path);
  }
  ASSIGN_OR_RETURN(const std::string head, HeadOf(path));
  if (head.empty()) return UsageError("{}: is empty: a trace has lookups", path);
  if (head.starts_with(std::string_view(kTraceMagic, sizeof(kTraceMagic)))) {
    return OpenRecordedTrace({path});
  }
  if (LooksLikeTorch(head)) {
    return UsageError(
        "{}: is a file of torch.save, or another pickle or ZIP archive, and these are not read: "
        "the program under \"Files of torch\" in docs/traces.md writes the ids of Meta's "
        "dlrm_datasets as text; give that file",
        path);
  }
  if (head.find('\0') != std::string::npos && !head.starts_with("\xff\xfe") &&
      !head.starts_with("\xfe\xff")) {
    return UsageError(
        "{}: is no trace: it begins as none of train --record_ids does, "
        "and text has no bytes of value 0; if it was recorded it is damaged: record it anew",
        path);
  }
  return OpenTextTrace(path);
}

}  // namespace rowhouse
