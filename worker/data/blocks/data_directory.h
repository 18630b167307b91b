// DataDirectory: samples in the binary form (docs/data_format.md), as batches. Files are
// memory-mapped: workers of one host share their pages.
//
//   DIR/data.json       format version, columns, blocks with their checksums, where the data came
//                       from, digests
//   DIR/samples.bin     blocks: columnar, fixed widths within a block
//   DIR/preprocessing.json, vocabulary-<k>.bin   of data that were made from text
//                       (worker/data/mapping/preprocessing.h)
//
// Each block is checked when it is first touched: its checksum, and that every value is one that
// EncodeBlock lets through. So whatever bytes the file has, samples that Append gave are sound.
// The file may become shorter while it is read, which is noticed (common/mapped_file.h); other
// changes of a checked block are not.
//
// Threads: const after Open; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "worker/data/batch.h"
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
  virtual ~DataDirectory() = default;

  virtual const std::string& path() const = 0;
  virtual const DataDescription& description() const = 0;

  uint64_t samples() const { return first_sample(blocks()); }
  const DataColumns& columns() const { return description().columns; }
  // In order; their samples add up. Of data written elsewhere there may be none.
  const std::vector<DataOrigin>& origins() const { return description().origins; }
  // Hex; of the origins' bytes if there are any, else of the blocks' checksums.
  std::string content_digest() const { return description().ContentDigest(); }
  // Of the preprocessing; "": none is there.
  const std::string& preprocessing_digest() const { return description().preprocessing_digest; }

  size_t blocks() const { return description().blocks.size(); }
  virtual uint64_t first_sample(size_t block) const = 0;  // of block == blocks(): samples()
  uint64_t samples_of(size_t block) const { return first_sample(block + 1) - first_sample(block); }
  // Of a sample by its number in the data. Requires sample < samples().
  virtual SamplePlace PlaceOf(uint64_t sample) const = 0;

  // Appends samples of a block, by their number in it, to *batch, in the order given. The batch
  // must have been Clear()ed to the shape of the columns. kUsage "DIR/samples.bin: block 17
  // (samples from 557056): ..." for a damaged block and for a file that has become shorter. After
  // an error the batch may have some columns longer than others.
  virtual Status Append(size_t block, std::span<const uint32_t> samples, Batch* batch) const = 0;
  // The same for samples of several blocks; those of a block that follow each other are read
  // together.
  virtual Status Append(std::span<const SamplePlace> places, Batch* batch) const = 0;

  // Appends the bags of all samples of a block in one categorical column, and no other column.
  virtual Status AppendBags(size_t block, size_t column, Bags* bags) const = 0;

  // Asks the system to read a block from the disk soon.
  virtual void WillNeed(size_t block) const = 0;

  // Checks one block again. Errors are those of Append.
  virtual Status Verify(size_t block) const = 0;
};

}  // namespace rowhouse
