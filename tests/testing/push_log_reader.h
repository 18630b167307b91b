// ReadPushLog: reads what ps/log/push_log.h writes, by the layout that is described there. Only
// tests read logs as yet: replaying one after a crash is not built.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "common/crc32c.h"
#include "common/durable_file.h"
#include "ps/log/push_log.h"

namespace rowhouse {

struct PushLogContent {
  uint64_t records = 0;
  uint64_t low_water = 0;   // the highest mark of any segment
  bool is_cut_off = false;  // the last segment ends with a truncated record
};

class PushLogSegmentReader {
 public:
  PushLogSegmentReader(std::string path, std::span<const std::byte> bytes, bool is_last)
      : path_(std::move(path)), bytes_(bytes), is_last_(is_last) {}

  Status Read(uint64_t number, const std::function<Status(const LoggedPush&)>& visit,
              PushLogContent* content) {
    if (bytes_.size() < kSegmentHeader && is_last_) {
      content->is_cut_off = true;
      return OkStatus();
    }
    if (bytes_.size() < kSegmentHeader || std::memcmp(bytes_.data(), "RWHSLOG\n", 8) != 0 ||
        Get<uint32_t>(bytes_, 60) != Crc32c(bytes_.first(60))) {
      return CorruptionError("{} does not begin as a push log", path_);
    }
    if (const uint32_t format = Get<uint32_t>(bytes_, 8); format > kFormat) {
      return UsageError("{} is of format {}, this build reads up to {}", path_, format, kFormat);
    }
    if (Get<uint64_t>(bytes_, 16) != number) {
      return CorruptionError("{} says it is segment {}", path_, Get<uint64_t>(bytes_, 16));
    }
    content->low_water = std::max(content->low_water, Get<uint64_t>(bytes_, 32));
    at_ = kSegmentHeader;
    while (at_ < bytes_.size()) {
      const size_t left = bytes_.size() - at_;
      const uint64_t length = left < kRecordHeader ? 0 : Get<uint32_t>(bytes_, at_);
      if (left < kRecordHeader || length > left - kRecordHeader) {
        if (!is_last_) return Corrupt("is cut off");
        content->is_cut_off = true;
        return OkStatus();
      }
      const std::span<const std::byte> record = bytes_.subspan(at_ + kRecordHeader, length);
      if (Crc32c(record) != Get<uint32_t>(bytes_, at_ + 4)) {
        // A crash may lose the last pages of a file in any order.
        if (!is_last_ || length < left - kRecordHeader) return Corrupt("fails its checksum");
        content->is_cut_off = true;
        return OkStatus();
      }
      RETURN_IF_ERROR(Visit(record, visit));
      ++content->records;
      at_ += kRecordHeader + length;
    }
    return OkStatus();
  }

 private:
  Status Corrupt(std::string_view what) const {
    return CorruptionError("{}: the record at byte {} {}", path_, at_, what);
  }

  Status Visit(std::span<const std::byte> record,
               const std::function<Status(const LoggedPush&)>& visit) const {
    if (record.size() < kRecordFixed) return Corrupt("is too short");
    LoggedPush push{.lsn = Get<uint64_t>(record, 0),
                    .step = Get<uint64_t>(record, 8),
                    .incarnation = Get<uint64_t>(record, 16),
                    .sequence = Get<uint64_t>(record, 24),
                    .worker = Get<uint32_t>(record, 32),
                    .learning_rate = Get<float>(record, 36),
                    .part = Get<uint32_t>(record, 40),
                    .parts = Get<uint32_t>(record, 44),
                    .frames = {},
                    .owner = nullptr};
    const size_t frames = Get<uint32_t>(record, 48);
    if ((record.size() - kRecordFixed) / sizeof(uint64_t) < frames) {
      return Corrupt("has more frames than bytes");
    }
    size_t at = kRecordFixed + frames * sizeof(uint64_t);
    for (size_t i = 0; i < frames; ++i) {
      const auto size = Get<uint64_t>(record, kRecordFixed + i * sizeof(uint64_t));
      if (size > record.size() - at) return Corrupt("has frames beyond its end");
      push.frames.push_back(record.subspan(at, size));
      at += size;
    }
    if (at != record.size()) return Corrupt("has bytes of no frame");
    return visit(push);
  }

  static constexpr uint32_t kFormat = 1;
  static constexpr size_t kSegmentHeader = 64;
  static constexpr size_t kRecordHeader = 8;  // length and checksum
  static constexpr size_t kRecordFixed = 56;  // from the LSN to the sizes of frames

  template <typename T>
  static T Get(std::span<const std::byte> from, size_t at) {
    T value;
    std::memcpy(&value, from.data() + at, sizeof(value));
    return value;
  }

  const std::string path_;
  const std::span<const std::byte> bytes_;
  const bool is_last_;
  size_t at_ = 0;
};

// Visits all records of a log in the order they were appended. kCorruption, naming file and place,
// for damaged bytes; a truncated last record is none. Frames are valid during the visit.
inline Result<PushLogContent> ReadPushLog(const std::string& directory,
                                          const std::function<Status(const LoggedPush&)>& visit) {
  std::map<uint64_t, std::string> paths;  // by the segment's number
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("push-") || !name.ends_with(".log")) continue;
    paths.emplace(std::strtoull(name.c_str() + 5, nullptr, 10), entry.path());
  }
  PushLogContent content;
  for (const auto& [number, path] : paths) {
    const uint64_t first = paths.begin()->first;
    if (number > first && !paths.contains(number - 1)) {
      return CorruptionError("push log {}: segment {} is missing", directory, number - 1);
    }
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    PushLogSegmentReader reader(path, std::as_bytes(std::span(bytes)),
                                number == paths.rbegin()->first);
    RETURN_IF_ERROR(reader.Read(number, visit, &content));
  }
  return content;
}

}  // namespace rowhouse
