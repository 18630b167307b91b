// DataDirectory: samples in the binary form (docs/data_format.md), as batches. Files are
// memory-mapped: workers of one host share their pages. DataWriter writes one.
//
//   DIR/data.json       format version, columns, blocks with their checksums, where the data came
//                       from, digests
//   DIR/samples.bin     blocks: columnar, fixed widths within a block
//   DIR/preprocessing.json, vocabulary-<k>.bin   of data that were made from text
//                       (worker/data/mapping/preprocessing.h)
//
// Each block is checked when it is first touched: its checksum, and that every value is one that
// EncodeBlock lets through. So Append never returns an invalid sample, even from a damaged file.
// The file may become shorter while it is read, which is noticed (common/mapped_file.h); other
// changes of a checked block are not.
//
// Threads: a DataDirectory is const after Open; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/mapped_file.h"
#include "common/status.h"
#include "worker/data/batch.h"
#include "worker/data/blocks/block.h"
#include "worker/data/blocks/data_description.h"

namespace rowhouse {

// A sample by its block and its number in it.
struct SamplePlace {
  uint32_t block = 0, sample = 0;
};

class DataDirectory {
 public:
  // True if `path` is a directory with a data.json.
  static bool IsAt(const std::string& path);

  // kUsage, naming the file, if there is none, if it is newer than this program, damaged or of
  // another length than data.json says.
  static Result<std::shared_ptr<const DataDirectory>> Open(const std::string& path);

  const std::string& path() const { return path_; }
  const DataDescription& description() const { return description_; }
  const DataColumns& columns() const { return description_.columns; }
  // In order; their samples add up. Of data written elsewhere there may be none.
  const std::vector<DataOrigin>& origins() const { return description_.origins; }
  // Hex; of the origins' bytes if there are any, else of the blocks' checksums.
  std::string content_digest() const { return description_.ContentDigest(); }
  // Of the preprocessing; "": none is there.
  const std::string& preprocessing_digest() const { return description_.preprocessing_digest; }

  uint64_t samples() const { return first_samples_.back(); }
  size_t blocks() const { return description_.blocks.size(); }
  // The first sample of each block; then the number of samples.
  const std::vector<uint64_t>& first_samples() const { return first_samples_; }
  uint64_t samples_of(size_t block) const {
    return first_samples_[block + 1] - first_samples_[block];
  }
  // Of a sample by its number in the data. Requires sample < samples().
  SamplePlace PlaceOf(uint64_t sample) const;

  // Appends samples of a block, by their number in it, to *batch, in the order given. The batch
  // must have been Clear()ed to the shape of the columns. kUsage "DIR/samples.bin: block 17
  // (samples from 557056): ..." for a damaged block and for a file that has become shorter. After
  // an error the batch may have some columns longer than others.
  Status Append(size_t block, std::span<const uint32_t> samples, Batch* batch) const;
  // The same for samples of several blocks; those of a block that follow each other are read
  // together.
  Status Append(std::span<const SamplePlace> places, Batch* batch) const;

  // Appends the bags of all samples of a block in one categorical column, and no other column.
  Status AppendBags(size_t block, size_t column, Bags* bags) const;

  // Checks one block again. Errors are those of Append.
  Status Verify(size_t block) const;

 private:
  DataDirectory(std::string path, DataDescription description,
                std::shared_ptr<const MappedFile> samples);

  BlockView ViewOf(size_t block) const { return {numbers_, BytesOf(block)}; }
  std::span<const std::byte> BytesOf(size_t block) const;
  std::string NameOf(size_t block) const;
  Status CheckLength(size_t block) const;
  Status CheckOnce(size_t block) const;

  const std::string path_;
  const DataDescription description_;
  const ArrayNumbers numbers_;
  const std::shared_ptr<const MappedFile> file_;
  std::vector<uint64_t> first_samples_;
  mutable std::vector<std::atomic<bool>> is_checked_;
};

// Writes the samples of a data directory, block by block. A new writer continues after the blocks
// that the caller has synced. Errors are those of common/durable_file.h.
// Threads: one.
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
