// Counting and sorting more than fits into memory: sorted runs are written to files and merged
// (external merge sort; Knuth, The Art of Computer Programming 3, section 5.4).
//
// TokenCounts: how often each token of each column occurs, and where first. What does not fit is
// spilled as sorted runs, which are merged by sixteens, so that what lies on disk stays within a
// few times the number of different tokens. ExternalSort: records in order.
//
// Records are plain bytes, in the order of the machine: the files are of one conversion on one host
// and are deleted at its end. Errors are those of common/durable_file.h. Threads: one each; several
// TokenCounts that counted parts of the data are merged by ForEachToken.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/durable_file.h"
#include "common/random.h"
#include "common/status.h"

namespace rowhouse {

// ---- Runs and sorting ---------------------------------------------------------------------------

// A file of records that is written from its beginning, then read in places, and removed when this
// goes away.
class SpillFile {
 public:
  explicit SpillFile(std::string path) : path_(std::move(path)) {}
  ~SpillFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  Status Append(const void* bytes, uint64_t count) {
    if (fd_ < 0) {
      fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_TRUNC | O_CLOEXEC, 0644);
      if (fd_ < 0) return StatusFromErrno(errno, "write", path_);
    }
    return WriteAll(fd_, {static_cast<const char*>(bytes), count}, path_);
  }

  Status Read(uint64_t at, void* bytes, uint64_t count) const {
    for (char* to = static_cast<char*>(bytes); count > 0;) {
      const ssize_t got = ::pread(fd_, to, count, static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return StatusFromErrno(errno, "read", path_);
      if (got == 0) return IoError("{} is shorter than what was written", path_);
      to += got;
      count -= static_cast<uint64_t>(got);
      at += static_cast<uint64_t>(got);
    }
    return OkStatus();
  }

 private:
  const std::string path_;
  int fd_ = -1;  // -1: nothing was written
};

// Records [at, at + count) of a file, one after the other.
template <typename Record>
class RunReader {
 public:
  static_assert(std::is_trivially_copyable_v<Record>);

  RunReader(const SpillFile* file, uint64_t first, uint64_t count, size_t buffer_records)
      : file_(file), next_(first), end_(first + count), buffer_records_(buffer_records) {}

  // The next record in *record; false at the end.
  Result<bool> Next(Record* record) {
    if (at_ == buffer_.size()) {
      if (next_ == end_) return false;
      buffer_.resize(std::min<uint64_t>(buffer_records_, end_ - next_));
      RETURN_IF_ERROR(
          file_->Read(next_ * sizeof(Record), buffer_.data(), buffer_.size() * sizeof(Record)));
      next_ += buffer_.size();
      at_ = 0;
    }
    *record = buffer_[at_++];
    return true;
  }

 private:
  const SpillFile* file_;
  uint64_t next_, end_;
  size_t buffer_records_;
  std::vector<Record> buffer_;
  size_t at_ = 0;
};

// Calls visit(record) -> Status for the records of sorted runs, in order; of equal ones, those of
// earlier runs come first.
template <typename Record, typename Less, typename Visit>
Status MergeRuns(std::vector<RunReader<Record>> runs, Less less, Visit visit) {
  struct Head {
    Record record;
    size_t run;
  };
  const auto is_later = [&](const Head& a, const Head& b) {
    return less(b.record, a.record) || (!less(a.record, b.record) && b.run < a.run);
  };
  std::vector<Head> heads;
  for (size_t run = 0; run < runs.size(); ++run) {
    Head head{{}, run};
    ASSIGN_OR_RETURN(const bool more, runs[run].Next(&head.record));
    if (more) heads.push_back(head);
  }
  std::make_heap(heads.begin(), heads.end(), is_later);
  while (!heads.empty()) {
    std::pop_heap(heads.begin(), heads.end(), is_later);
    RETURN_IF_ERROR(visit(heads.back().record));
    ASSIGN_OR_RETURN(const bool more, runs[heads.back().run].Next(&heads.back().record));
    if (more) {
      std::push_heap(heads.begin(), heads.end(), is_later);
    } else {
      heads.pop_back();
    }
  }
  return OkStatus();
}

// Takes records in any order, gives them back sorted.
template <typename Record, typename Less>
class ExternalSort {
 public:
  // Keeps about memory_bytes in memory; `path`: of the file of what is beyond.
  ExternalSort(std::string path, uint64_t memory_bytes)
      : file_(std::move(path)),
        memory_bytes_(memory_bytes),
        run_records_(std::max<uint64_t>(16, memory_bytes / sizeof(Record) / 2)) {}

  Status Add(const Record& record) {
    if (records_.size() == run_records_) RETURN_IF_ERROR(Spill());
    records_.push_back(record);
    return OkStatus();
  }

  uint64_t size() const { return spilled_ + records_.size(); }

  // Calls visit(record) -> Status for all, in order. Call it once.
  template <typename Visit>
  Status ForEach(Visit visit) {
    if (runs_.empty()) {
      std::sort(records_.begin(), records_.end(), Less());
      for (const Record& record : records_) RETURN_IF_ERROR(visit(record));
      return OkStatus();
    }
    RETURN_IF_ERROR(Spill());
    std::vector<Record>().swap(records_);
    const uint64_t buffer = memory_bytes_ / sizeof(Record) / runs_.size();
    std::vector<RunReader<Record>> readers;
    uint64_t first = 0;
    for (const uint64_t count : runs_) {
      readers.emplace_back(&file_, first, count,
                           static_cast<size_t>(std::clamp<uint64_t>(buffer, 64, 1 << 16)));
      first += count;
    }
    return MergeRuns(std::move(readers), Less(), visit);
  }

 private:
  Status Spill() {
    std::sort(records_.begin(), records_.end(), Less());
    RETURN_IF_ERROR(file_.Append(records_.data(), records_.size() * sizeof(Record)));
    runs_.push_back(records_.size());
    spilled_ += records_.size();
    records_.clear();
    return OkStatus();
  }

  SpillFile file_;
  const uint64_t memory_bytes_;
  const uint64_t run_records_;
  std::vector<Record> records_;
  std::vector<uint64_t> runs_;  // records of each
  uint64_t spilled_ = 0;
};

// ---- Counts -------------------------------------------------------------------------------------

struct TokenCount {
  uint64_t key;
  uint64_t count;
  uint64_t first;  // the lowest position that it was added with
};

class TokenCounts {
 public:
  // Files begin with path_prefix.
  TokenCounts(size_t columns, std::string path_prefix, uint64_t memory_bytes);

  // Counts tokens of a column: keys[i] at position first + i. kResourceExhausted for a full disk;
  // after an error every further call returns it.
  Status Add(size_t column, std::span<const uint64_t> keys, uint64_t first);

  // Spills what is in memory and gives it back. Nothing is added after it.
  Status Finish();

  // Calls visit(count) -> Status for each different token of a column of all counts together, in
  // ascending order of Mix64(key). Requires that all have been Finish()ed. May be called for
  // several columns at once.
  using Visit = std::function<Status(const TokenCount&)>;
  static Status ForEachToken(std::span<const std::unique_ptr<TokenCounts>> counts, size_t column,
                             const Visit& visit);

 private:
  // Tokens of a column by open addressing, in the order of Mix64 but for collisions. A slot with
  // count 0 is empty.
  struct Table {
    std::vector<TokenCount> slots;
    uint64_t used = 0;
    unsigned shift = 0;  // of Mix64(key), to find a slot

    void Reset(unsigned bits);
    TokenCount* Find(uint64_t key);
    void Prefetch(uint64_t key) const { __builtin_prefetch(&slots[Mix64(key) >> shift], 1); }
    bool is_full() const { return used * 4 > slots.size() * 3; }
    uint64_t bytes() const { return slots.size() * sizeof(TokenCount); }
  };
  struct Run {
    std::unique_ptr<SpillFile> file;
    std::vector<uint64_t> begins;  // of each column, in records; one more at the end
    uint32_t level = 0;            // times it was merged
  };

  // Makes room in a full table: a larger one, or all tables are spilled.
  Status MakeRoom(size_t column);
  Status Spill();
  Status MergeSixteen();
  std::unique_ptr<SpillFile> NewFile();

  const std::string path_prefix_;
  const uint64_t memory_bytes_;
  std::vector<Table> tables_;
  uint64_t bytes_ = 0;  // of all tables
  std::vector<Run> runs_;
  uint64_t files_ = 0;
  Status status_;  // the first error: the tables are not whole after it
};

}  // namespace rowhouse
