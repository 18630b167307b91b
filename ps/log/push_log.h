// PushLog: keeps every push of a shard, as received, in files of the shard's own, before it is
// answered. So an answered push survives a crash of the process (wal) or of the machine (fsync)
// before its rows are written back. Replaying the log after a crash is not built yet.
//
// The log is a sequence of segments `push-<number>.log` of about 64 MB; a segment never has pushes
// of two laps of the sweeper:
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
//   push, with gradients in the job's push_precision; then, for each of its lists of bags, four
//   frames with the bags that the pull brought: the distinct rows u64, the place of each lookup's
//   row among them u32, the offsets u32 (bags + 1), the weights f32 (one a lookup, or none)
//
// All numbers are little-endian. A truncated record at the end of the last segment was never
// answered.
//
// Low-water mark L: the changes of every LSN <= L are in the row store for good. Segments without
// other records are deleted, and the last one is truncated to its header. Before that the mark is
// written into the header of the last segment, in place. The header lies within one sector, so
// after a crash it holds the old mark or the new one. Writing in place needs no room, so a disk
// that the log has filled gets room again.
//
// RocksDB's own log is not used: it ends with each flush of a memtable, and costs a copy of the
// push into its blocks. Threads: one at a time (the shard's log thread).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
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
  // Begins a log. Deletes that of an earlier run: its rows were saved, else the shard's directory
  // would not have been opened.
  static Result<std::unique_ptr<PushLog>> Open(const PushLogOptions& options);
  ~PushLog();
  PushLog(const PushLog&) = delete;
  PushLog& operator=(const PushLog&) = delete;

  // Appends all of them or none. Pushes of a new `lap` begin a segment, so that a mark between laps
  // frees whole segments. kResourceExhausted on a full disk: nothing was appended, and the same
  // call may be tried again.
  Status Append(std::span<const LoggedPush> pushes, uint64_t lap = 0);

  // Raises the low-water mark and deletes segments that are below it as a whole. Needs no room,
  // except on file systems that copy on write (btrfs, ZFS): there kResourceExhausted as above.
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

}  // namespace rowhouse
