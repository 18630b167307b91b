// PushLog: every push of a shard, as received, in files of the shard's own, before it is answered.
// With it an answered push survives the process (wal) or the machine (fsync), long before its rows
// are written back. Reading it back after a crash is not built yet; the format is.
//
// A log is segments `push-<number>.log`, appended to in turn, each of one lap of the sweeper at
// most and of about 64 MB:
//
//   bytes 0-7   "RWHSLOG\n"                    bytes 8-11   format, 1
//   bytes 12-15 shard                          bytes 16-23  number of the segment, from 1
//   bytes 24-31 job id                         bytes 32-39  low-water mark
//   bytes 40-59 0                              bytes 60-63  crc32c of bytes 0-59
//
// then records:
//
//   u32 length of what follows the next field  u32 crc32c of that
//   u64 LSN, u64 step, u64 incarnation of the server, u64 sequence: the request's number
//   u32 worker, f32 learning rate, u32 part, u32 of parts
//   u32 frames, u32 0, then the size of each as u64, then their bytes: body and payload of the
//   push, and of each bag part in it what its pull brought: distinct rows u64, of each lookup its
//   place among them u32, offsets u32 (bags + 1), weights f32 (one a lookup, or none)
//
// little-endian. A record that is cut off, at the end of the last segment, was never answered.
// The low-water mark L: the changes of every LSN <= L are in the row store for good; segments with
// no others are deleted, the last one is cut back to its header. Before any is, the mark is written
// over that of the last one (its header lies within one sector, so it is the old one or the new one
// after a crash), so that the log always says up to where records may be gone. That takes no room:
// a disk that the log itself has filled gets some again.
//
// Not RocksDB's own log: that ends with each flush of a memtable, and costs a copy into its blocks.
// Threads: one at a time (the shard's log thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "common/types.h"

namespace rowhouse {

struct LoggedPush {
  uint64_t lsn = 0;
  uint64_t step = 0;
  uint64_t incarnation = 0;
  uint64_t sequence = 0;
  uint32_t worker = 0;
  float learning_rate = 0.0f;
  uint32_t part = 0, parts = 1;
  std::vector<std::span<const std::byte>> frames;
  std::shared_ptr<const void> owner;  // of the frames' bytes
};

struct PushLogOptions {
  std::string directory;  // made if missing; segments of an earlier run are deleted: see Open
  ShardId shard{};
  uint64_t job_id = 0;
  bool syncs = false;  // --durability=fsync: Append returns when the disk has it
  uint64_t segment_bytes = uint64_t{64} << 20;
};

class PushLog {
 public:
  // Begins a log. What an earlier run left there is deleted: its rows were saved in order, or its
  // directory would not have been opened.
  static Result<std::unique_ptr<PushLog>> Open(const PushLogOptions& options);
  ~PushLog();
  PushLog(const PushLog&) = delete;
  PushLog& operator=(const PushLog&) = delete;

  // All of them or none. Pushes of another `lap` than those before begin a segment, so that a mark
  // between laps lets whole segments go. kResourceExhausted on a full disk: nothing was appended,
  // and the same call may be tried again.
  Status Append(std::span<const LoggedPush> pushes, uint64_t lap = 0);

  // Raises the low-water mark and deletes the segments that are below it as a whole. Needs no room,
  // unless the file system copies what is written over (btrfs, ZFS): then kResourceExhausted, as
  // above.
  Status Truncate(uint64_t low_water);

  uint64_t bytes_appended() const { return bytes_appended_; }
  size_t segments() const { return segments_.size(); }

 private:
  struct Segment {
    uint64_t number = 0;
    uint64_t last_lsn = 0;  // 0: it is empty
  };

  explicit PushLog(const PushLogOptions& options) : options_(options) {}
  std::vector<std::byte> HeaderOf(uint64_t number) const;
  Status Begin();
  Status WriteMark();
  Status CutBack(uint64_t size);
  Status Write(std::span<const LoggedPush> pushes);
  std::string PathOf(uint64_t number) const;

  const PushLogOptions options_;
  int file_ = -1;  // of the last segment
  uint64_t size_ = 0;
  std::vector<Segment> segments_;  // by number
  uint64_t next_number_ = 1;
  uint64_t low_water_ = 0;
  uint64_t mark_ = 0;  // what the last segment says of it
  uint64_t lap_ = 0;   // of the last segment's pushes
  uint64_t bytes_appended_ = 0;
};

struct PushLogContent {
  uint64_t records = 0;
  uint64_t low_water = 0;   // the highest a segment tells of
  bool is_cut_off = false;  // the last segment ends within a record
};

// Visits all records of a log in the order they were appended. kCorruption, naming file and place,
// for anything that was not written so, unless it is a last record cut off. Frames are good during
// the visit.
Result<PushLogContent> ReadPushLog(const std::string& directory,
                                   const std::function<Status(const LoggedPush&)>& visit);

}  // namespace rowhouse
