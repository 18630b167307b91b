// DataWriter: writes the samples of a data directory, block by block. A writer that was killed goes
// on behind the blocks that its caller knows to be on disk.
//
// Errors are those of common/durable_file.h. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/blocks/block.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {

class DataWriter {
 public:
  // Makes `directory` if it is not there. `blocks`: those that an earlier writer has synced there;
  // what is behind them is cut off. kUsage if samples.bin does not have them all.
  static Result<std::unique_ptr<DataWriter>> Open(const std::string& directory,
                                                  const DataColumns& columns,
                                                  std::vector<BlockPlace> blocks = {});
  ~DataWriter();
  DataWriter(const DataWriter&) = delete;
  DataWriter& operator=(const DataWriter&) = delete;

  const std::vector<BlockPlace>& blocks() const { return description_.blocks; }
  uint64_t bytes() const;  // of samples.bin

  Status Append(const EncodedBlock& block);

  // Makes what was appended survive a crash.
  Status Sync();

  // Syncs and writes data.json, which makes the directory one of data. `preprocessing_digest`: of
  // files that lie in the directory already; "": none. `origins`: none, or their samples add up to
  // those of the blocks, of which there is one at least.
  Status Finish(const std::vector<DataOrigin>& origins, const std::string& preprocessing_digest);

 private:
  DataWriter(std::string directory, const DataColumns& columns, std::vector<BlockPlace> blocks);
  Status OpenSamples();

  const std::string directory_, samples_path_;
  DataDescription description_;
  int samples_ = -1;  // samples.bin
};

}  // namespace rowhouse
