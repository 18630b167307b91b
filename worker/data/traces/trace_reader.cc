#include "worker/data/traces/trace_reader.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <unordered_map>

#include "worker/data/text/byte_stream.h"
#include "worker/data/text/field_text.h"
#include "worker/data/text/text_chunks.h"
#include "worker/data/traces/recorded_trace.h"

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

constexpr std::string_view kBlanks = " \t,\r";
constexpr uint64_t kLargestId = UINT64_MAX / 2;

class TextTrace final : public TraceReader {
 public:
  explicit TextTrace(std::string path) : path_(std::move(path)) {}

  Status ReadAll();

  const char* form() const override { return "text"; }
  const std::vector<TraceTable>& tables() const override { return tables_; }

  Result<uint64_t> Read(uint64_t samples, std::vector<Bags>* features) override {
    CHECK_GT(samples, 0u);
    features->resize(tables_.size());
    const uint64_t count = std::min(samples, samples_ - next_);
    for (size_t t = 0; t < tables_.size(); ++t) {
      Bags& to = (*features)[t];
      to.clear();
      const Lookups& from = lookups_[t];
      for (uint64_t s = next_; s < next_ + count; ++s) {
        const auto [begin, end] = from.BagOf(s, has_samples_);
        to.ids.insert(to.ids.end(), from.ids.begin() + static_cast<std::ptrdiff_t>(begin),
                      from.ids.begin() + static_cast<std::ptrdiff_t>(end));
        to.EndBag();
      }
      figures_[t].Add(to);
    }
    next_ += count;
    return count;
  }

 private:
  struct Lookups {
    std::vector<uint64_t> ids;
    std::vector<uint64_t> ends;   // of each sample that ended after the table's first id, in ids
    uint64_t samples_before = 0;  // that ended before

    std::pair<uint64_t, uint64_t> BagOf(uint64_t sample, bool has_samples) const {
      if (!has_samples) {
        const uint64_t size = ids.size();
        return {std::min(sample, size), std::min(sample + 1, size)};
      }
      if (sample < samples_before) return {0, 0};
      const uint64_t s = sample - samples_before;
      return {s == 0 ? 0 : ends[s - 1], ends[s]};
    }
  };

  Status AddLine(std::string_view line);
  Status Bad(std::string_view line, std::string_view at, std::string_view what) const;
  size_t TableOf(std::string_view name);
  void EndSample();

  const std::string path_;
  uint64_t line_ = 0;
  size_t fields_ = 0;  // of a line; 0: not known
  std::vector<TraceTable> tables_;
  std::vector<Lookups> lookups_;
  std::unordered_map<std::string, size_t> by_name_;
  bool has_samples_ = false;
  bool is_sample_open_ = false;  // it has lookups
  uint64_t pending_ends_ = 0;    // empty lines since the last lookup
  uint64_t samples_ = 0;
  uint64_t next_ = 0;  // sample that is read next
};

Status TextTrace::Bad(std::string_view line, std::string_view at, std::string_view what) const {
  return UsageError("{}:{}:{}: {} is \"{}\"; expected lines \"TABLE ID\" or \"ID\"", path_, line_,
                    at.data() - line.data() + 1, what, ShownField(at));
}

size_t TextTrace::TableOf(std::string_view name) {
  const auto [found, is_new] = by_name_.emplace(name, tables_.size());
  if (is_new) {
    tables_.push_back({.name = std::string(name)});
    lookups_.push_back({.ids = {}, .ends = {}, .samples_before = samples_});
  }
  return found->second;
}

void TextTrace::EndSample() {
  for (Lookups& table : lookups_) table.ends.push_back(table.ids.size());
  ++samples_;
  is_sample_open_ = false;
}

Status TextTrace::AddLine(std::string_view line) {
  std::string_view fields[2];
  size_t count = 0;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    if (line[at] == '#') {
      if (count == 0) return OkStatus();  // ends no sample
      break;
    }
    if (count == 2) return Bad(line, line.substr(at, end - at), "the third field");
    fields[count++] = line.substr(at, end - at);
    at = line.find_first_not_of(kBlanks, end);
  }
  if (count == 0) {
    if (is_sample_open_) ++pending_ends_;
    return OkStatus();
  }
  if (fields_ == 0) fields_ = count;
  if (count != fields_) {
    return UsageError("{}:{}: has {} fields, the lines before it {}", path_, line_, count, fields_);
  }
  if (pending_ends_ > 0) {  // only now: several empty lines end one sample
    has_samples_ = true;
    EndSample();
    pending_ends_ = 0;
  }
  const std::string_view number = fields[count - 1];
  uint64_t id = 0;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), id);
  if (error != std::errc() || end != number.end() || id > kLargestId) {
    return UsageError("{}:{}:{}: the id is \"{}\"; ids are whole numbers from 0 to 2^63 - 1", path_,
                      line_, number.data() - line.data() + 1, ShownField(number));
  }
  lookups_[TableOf(count == 2 ? fields[0] : "0")].ids.push_back(id);
  is_sample_open_ = true;
  return OkStatus();
}

Status TextTrace::ReadAll() {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(path_));
  constexpr size_t kChunk = size_t{1} << 20, kMaxLine = size_t{1} << 16;
  std::string text;
  for (bool is_first = true, is_end = false; !is_end; is_first = false) {
    const size_t rest = text.size();
    text.resize(rest + kChunk);
    ASSIGN_OR_RETURN(const size_t bytes, stream->Read(text.data() + rest, kChunk));
    text.resize(rest + bytes);
    is_end = bytes < kChunk;
    if (is_first) {
      RETURN_IF_ERROR(CheckIsText(std::string_view(text).substr(0, kFirstBytes), path_));
    }
    if (is_end && !text.empty() && text.back() != '\n') text.push_back('\n');
    std::string_view left = text;
    for (size_t end = left.find('\n'); end != std::string_view::npos; end = left.find('\n')) {
      ++line_;
      RETURN_IF_ERROR(AddLine(left.substr(0, end)));
      left.remove_prefix(end + 1);
    }
    if (left.size() > kMaxLine) {
      return UsageError("{}:{}: is longer than {} bytes", path_, line_ + 1, kMaxLine);
    }
    text = std::string(left);
  }
  if (pending_ends_ > 0) has_samples_ = true;
  if (has_samples_) {
    EndSample();
  } else {
    for (const Lookups& table : lookups_) {
      samples_ = std::max<uint64_t>(samples_, table.ids.size());
    }
  }
  if (tables_.empty()) return UsageError("{}: has no lookups", path_);
  figures_.resize(tables_.size());
  return OkStatus();
}

}  // namespace

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
  auto text = std::make_unique<TextTrace>(path);
  RETURN_IF_ERROR(text->ReadAll());
  return std::unique_ptr<TraceReader>(std::move(text));
}

}  // namespace rowhouse
