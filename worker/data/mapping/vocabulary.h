// Vocabulary: a file of the keys of a column, each with its number by first appearance, that is
// memory-mapped: processes of a host share its pages, and it may be larger than memory.
//
// Bytes, all little-endian. W is 4 if there are fewer than 2^32 keys, else 8.
//   header   64 bytes: magic "RHVOCAB1"; u32 version (1); u32 W; u64 keys n; u64 bucket bits b;
//            u64 XXH3-64 of the buckets, of the keys, of the numbers; u64 XXH3-64 of the 56 bytes
//            before
//   buckets  2^b + 1 values of W bytes, zeros up to a multiple of 8: keys of bucket i are those at
//            positions [buckets[i], buckets[i + 1])
//   keys     n values of 8 bytes, in ascending order of Mix64(key) (common/random.h); a key is in
//            the bucket of the highest b bits of Mix64(key)
//   numbers  n values of W bytes: 0 to n - 1, each once
// There are 2 to 4 keys in a bucket, so that a key is found by reading three places.
//
// Threads: a Vocabulary is const after Open; any thread. A writer is used by one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/mapped_file.h"
#include "common/status.h"

namespace rowhouse {

class Vocabulary {
 public:
  // kNotFound if there is none, kUsage if it is of a newer version, kCorruption if it is damaged.
  // Files up to 256 MiB are read through; of larger ones only the header is checked: see Verify.
  static Result<std::unique_ptr<const Vocabulary>> Open(const std::string& path);

  // numbers[i] of keys[i], kNone for one that it lacks. Requires as many numbers as keys; they may
  // be the same memory. If the file becomes shorter while it is read, numbers are wrong, and
  // CheckWhole, called after them, says so.
  static constexpr uint64_t kNone = UINT64_MAX;
  void FindAll(std::span<const uint64_t> keys, std::span<uint64_t> numbers) const;
  // The same in the order of the file, piece by piece, so that no more than a piece of it is in the
  // memory of the process. FindAll does it for many keys of a large file.
  void FindInOrder(std::span<const uint64_t> keys, std::span<uint64_t> numbers) const;

  // Calls add(key, number) for each key, in the order of the file: ascending Mix64(key). Returns
  // the first error. CheckWhole as above.
  template <typename Add>
  Status ForEach(const Add& add) const {
    for (uint64_t at = 0; at < keys_count_; ++at) RETURN_IF_ERROR(add(keys_[at], NumberAt(at)));
    return CheckWhole();
  }

  uint64_t size() const { return keys_count_; }
  const std::string& path() const { return file_->path(); }
  Status CheckWhole() const { return file_->CheckWhole(); }
  // Hex; equal checksums: the same numbers for the same keys.
  const std::string& checksum() const { return checksum_; }
  uint64_t bytes() const { return file_->bytes().size(); }

  // Reads all of it. kCorruption if it is damaged.
  Status Verify() const;

  // Lets go of the pages that were read; they are read again when needed. Keeps the memory of a
  // process that maps a large vocabulary bounded.
  void ReleasePages() const;

 private:
  Vocabulary() = default;
  Status ReadHeader();
  uint64_t BucketAt(uint64_t index) const;
  uint64_t NumberAt(uint64_t at) const;
  void FindAsTheyCome(std::span<const uint64_t> keys, std::span<uint64_t> numbers) const;
  uint64_t FindFrom(uint64_t at, uint64_t end, uint64_t key) const;

  const unsigned char* map() const {
    return reinterpret_cast<const unsigned char*>(file_->bytes().data());
  }

  std::shared_ptr<const MappedFile> file_;
  std::string checksum_;
  uint64_t keys_count_ = 0;
  unsigned bucket_bits_ = 0;
  bool is_wide_ = false;
  const unsigned char* buckets_ = nullptr;
  const uint64_t* keys_ = nullptr;
  const unsigned char* numbers_ = nullptr;
};

class VocabularyWriter {
 public:
  // Begins the file of this many keys at `path`, replacing what is there.
  static Result<std::unique_ptr<VocabularyWriter>> Open(const std::string& path, uint64_t keys);
  ~VocabularyWriter();
  VocabularyWriter(const VocabularyWriter&) = delete;
  VocabularyWriter& operator=(const VocabularyWriter&) = delete;

  // Requires ascending Mix64(key), and as many calls as keys were announced. kResourceExhausted for
  // a full disk.
  Status Add(uint64_t key, uint64_t number);

  // Writes the header and fsyncs.
  Status Finish();

 private:
  struct Region;
  VocabularyWriter();
  Status AddBucketsUpTo(uint64_t bucket);
  Status AddNumber(Region* region, uint64_t number);

  std::string path_;
  int fd_ = -1;
  uint64_t keys_count_ = 0, added_ = 0;
  unsigned bucket_bits_ = 0;
  bool is_wide_ = false;
  uint64_t next_bucket_ = 0;  // that no bound was written of
  uint64_t last_mixed_ = 0;
  std::unique_ptr<Region> buckets_, keys_, numbers_;
};

}  // namespace rowhouse
