// DataWriter: writes a data directory, block by block, so that a writer that was killed goes on
// after the last block that Sync made last.
//
// It writes <path>.partial, which Finish renames to <path>. In it, until Finish:
//   samples.bin     the blocks
//   blocks.journal  of each block that was synced: its place, 40 bytes
//   columns.json    the columns, so that a later writer of other columns is refused
//
// Errors are those of common/durable_file.h. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/data_description.h"
#include "worker/data/blocks/encoded_block.h"

namespace rowhouse {

class DataWriter {
 public:
  // Continues <path>.partial if it is there (blocks() says how many were synced; those appended
  // later are cut off), else makes it. kUsage if `path` exists, or if <path>.partial has other
  // columns.
  static Result<std::unique_ptr<DataWriter>> Open(const std::string& path,
                                                  const DataColumns& columns);
  virtual ~DataWriter() = default;

  virtual size_t blocks() const = 0;
  virtual uint64_t samples() const = 0;
  virtual uint64_t bytes() const = 0;  // of samples.bin

  virtual Status Append(const EncodedBlock& block) = 0;

  // Makes what was appended survive a crash.
  virtual Status Sync() = 0;

  // Syncs, writes data.json and renames. `preprocessing_digest`: of files that lie in
  // partial_path() already; "": none. `origins`: none, or their samples add up to samples(). kUsage
  // without a sample. Requires that nothing but files of the data directory is in partial_path().
  virtual Status Finish(const std::vector<DataOrigin>& origins,
                        const std::string& preprocessing_digest) = 0;

  virtual const std::string& partial_path() const = 0;
};

}  // namespace rowhouse
