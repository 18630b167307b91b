// DataDirectory: samples in the binary form (docs/data_format.md), as batches. Files are
// memory-mapped: workers of one host share their pages.
//
//   DIR/data.json       format version, columns, blocks with their checksums, where the data came
//                       from, digests
//   DIR/samples.bin     blocks: columnar, fixed widths within a block
//   DIR/preprocessing.json, vocabulary-<k>.bin   of data that were made from text
//                       (worker/data/mapping/preprocessing.h)
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

namespace rowhouse {

struct DataColumns {
  std::vector<std::string> dense;        // names
  std::vector<std::string> categorical;  // names
  std::vector<uint64_t> rows;            // of each categorical column: its ids are below
  bool has_weights = false;              // of samples
  bool operator==(const DataColumns&) const = default;
};

// One file that the data were made from.
struct DataOrigin {
  std::string file;      // name as it was given
  uint64_t samples = 0;  // that it gave
  std::string digest;    // XXH3-64, hex, of its (uncompressed) bytes
  bool operator==(const DataOrigin&) const = default;
};

class DataDirectory {
 public:
  // True if `path` is a directory with a data.json.
  static bool IsAt(const std::string& path);

  // kUsage if there is none or it is newer than this program; kCorruption if it is damaged (block
  // checksums are checked when a block is first read, or by Verify).
  static Result<std::shared_ptr<const DataDirectory>> Open(const std::string& path);
  virtual ~DataDirectory() = default;

  virtual const std::string& path() const = 0;
  virtual uint64_t samples() const = 0;
  virtual const DataColumns& columns() const = 0;
  virtual const std::vector<DataOrigin>& origins() const = 0;  // in order; their samples add up
  // Hex; of the origins' bytes if there are any, else of the blocks' checksums.
  virtual std::string content_digest() const = 0;
  // Of the preprocessing; "": none is there.
  virtual std::string preprocessing_digest() const = 0;

  virtual size_t blocks() const = 0;
  virtual uint64_t first_sample(size_t block) const = 0;  // of block == blocks(): samples()
  uint64_t samples_of(size_t block) const { return first_sample(block + 1) - first_sample(block); }

  // Appends the given samples of a block, by their number in it, to *batch, in the order given. The
  // batch must have been Clear()ed to the shape of the columns. kCorruption
  // "DIR/samples.bin: block 17: ..." for a damaged block, kIoError if the file has shrunk.
  virtual Status Append(size_t block, std::span<const uint32_t> samples, Batch* batch) const = 0;

  // Checks one block from its bytes on disk.
  virtual Status Verify(size_t block) const = 0;
};

// Writes a data directory: under <path>.partial until Finish renames it. Blocks may be encoded on
// several threads and are appended in order by one.
struct EncodedBlock {
  uint64_t samples = 0;
  std::string bytes;
};
// kUsage, naming sample and column, for a value that the form cannot hold.
Result<EncodedBlock> EncodeBlock(const DataColumns& columns, const Batch& batch);

class DataWriter {
 public:
  // Continues <path>.partial if it is there (`blocks()` says how many are whole), else makes it.
  // kUsage if `path` exists already.
  static Result<std::unique_ptr<DataWriter>> Open(const std::string& path,
                                                  const DataColumns& columns);
  virtual ~DataWriter() = default;

  virtual size_t blocks() const = 0;
  virtual uint64_t samples() const = 0;
  virtual Status Append(const EncodedBlock& block) = 0;
  // Makes what was appended survive a crash.
  virtual Status Sync() = 0;
  // Writes data.json, syncs and renames. `preprocessing_digest`: of files that lie in
  // <path>.partial already; "": none.
  virtual Status Finish(const std::vector<DataOrigin>& origins,
                        const std::string& preprocessing_digest) = 0;
  virtual const std::string& partial_path() const = 0;
};

}  // namespace rowhouse
