// ConversionState: what a conversion has done, in the directory <out>.partial, so that one that was
// killed goes on. The directory has
//
//   conversion.json   what is converted and how: a later call must want the same
//   chunks.journal    of each chunk of text that is done: what it gave, and where its blocks are
//   preprocessing.json, vocabulary-<k>.bin   once the first pass is done
//   spill-*           files of the first pass while it runs
//   data              the data directory that is being written
//
// and is removed after `data` was renamed to <out>. Errors are those of common/durable_file.h.
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {

// A chunk of text (worker/data/text/text_chunks.h) whose samples are written.
struct ConvertedChunk {
  uint32_t file = 0;
  uint32_t lines = 0;
  uint32_t samples = 0;
  uint32_t bad_lines = 0;
  std::vector<BlockPlace> blocks = {};
  bool operator==(const ConvertedChunk&) const = default;
};

class ConversionState {
 public:
  // Whether a conversion to `out` was begun and has not ended.
  static bool IsThere(const std::string& out);

  // Begins, or goes on. `identity`: all that decides the bytes of the result, as a flat object of
  // what messages may name. kUsage if what is there was begun with another one, or if another
  // process is at work on it.
  static Result<std::unique_ptr<ConversionState>> Open(const std::string& out,
                                                       const nlohmann::ordered_json& identity);
  ~ConversionState();
  ConversionState(const ConversionState&) = delete;
  ConversionState& operator=(const ConversionState&) = delete;

  const std::string& directory() const { return directory_; }
  std::string data_path() const { return directory_ + "/data"; }
  bool is_data_finished() const;

  // Those that a journal has; Append adds to them.
  const std::vector<ConvertedChunk>& chunks() const { return chunks_; }
  // Lasts after Sync, before which the blocks must be on disk.
  void Append(ConvertedChunk chunk);
  Status Sync();

  // Removes files of a first pass that was killed.
  void RemoveSpills() const;

  // Renames the finished data to `out`, unless that was done, and removes the rest.
  Status Finish();

 private:
  explicit ConversionState(std::string out) : out_(std::move(out)), directory_(out_ + ".partial") {}
  void RemoveUnnamed() const;  // what a killed process left in the data (common/new_file.h)
  Status Lock();
  Status CheckIdentity(const nlohmann::ordered_json& identity);
  Status ReadJournal();

  const std::string out_, directory_;
  int lock_ = -1, journal_ = -1;
  std::vector<ConvertedChunk> chunks_;
  std::string unwritten_;  // entries of the journal
};

// Tells a file from what it was before: size, times of the last change of bytes and of facts,
// inode, and a digest of 64 pieces spread over it. A change of bytes is seen even if size and time
// of change are put back, because the system's own time of change (ctime) cannot be set. (On a file
// system without one, such as FAT, only the pieces tell.) Waits until a change would have another
// time: 20 ms after the last one, two seconds where times are whole seconds. kUsage if it cannot be
// read.
Result<std::string> FileIdentity(const std::string& path);

// <out> without slashes at its end.
std::string WithoutEndSlashes(std::string out);

}  // namespace rowhouse
