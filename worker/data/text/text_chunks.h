// TextChunks: text files, one after the other, as chunks of whole records, so that several threads
// can parse what one thread reads.
//
// A record of text ends at a line end (LF; a CR before it belongs to the end), with has_quotes only
// where the number of double quotes before it is even. The last record of a file needs no end.
// Empty lines at the end of a file are left out, as is a byte order mark at its beginning; other
// empty lines are part of the chunk. Records of a fixed size are whatever bytes they are. Where
// chunks end depends on the bytes and on chunk_bytes only.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "worker/data/text/byte_stream.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

// The files of `list`: paths and patterns (* ? [...]), joined by commas, in the order given; files
// of one pattern in the order of names, numbers in them by value (day_2 before day_10). If a path
// does not exist but PATH_0 does, the path means files of days: PATH_0, PATH_1, ... up to the last.
// "-" alone is standard input. kUsage if a pattern fits nothing, a day is missing, a file is named
// twice, or a path is a directory. Whether a file can be read is not looked at.
Result<std::vector<std::string>> ExpandFiles(const std::string& list);

// The first record of a file, without its line end; "" for an empty file, and for a pipe, which is
// not read. kUsage as TextChunks::Open and Next.
Result<std::string> FirstRecordOf(const std::string& file, const RecordForm& form);

constexpr size_t kFirstBytes = 4096;  // that tell whether a file is text

// kUsage, saying what the file is and what to do, unless `head`, the first bytes of it
// (uncompressed), looks like text: so a Parquet file given as text is called one, instead of an
// error in line 1, column 5. An empty head is text.
Status CheckIsText(std::string_view head, const std::string& file);

class TextChunks {
 public:
  static constexpr size_t kMaxRecordBytes = size_t{1} << 20;
  static constexpr size_t kDefaultChunkBytes = size_t{1} << 22;

  // Looks at the beginning of each file. kUsage, naming the file and the reason, if one cannot be
  // opened or, where records are lines, does not look like text (CheckIsText).
  static Result<TextChunks> Open(std::vector<std::string> files, const RecordForm& form,
                                 size_t chunk_bytes = kDefaultChunkBytes);

  // The next chunk, of about chunk_bytes, in *chunk; false at the end of the last file. kUsage for
  // a record longer than kMaxRecordBytes, for a file that ends within a record of a fixed size, and
  // as ByteStream::Read.
  Result<bool> Next(TextChunk* chunk);

  // Passes over chunks until the next one is `number`: the same position as after this many calls
  // of Next. kUsage if there are fewer.
  Status SkipTo(uint64_t number);

  // As they lie on disk: read so far, and of all files; 0 if one is a pipe.
  uint64_t bytes_done() const;
  uint64_t bytes_total() const { return bytes_total_; }

  // Whether all are files that can be read again from the beginning, not pipes.
  bool can_be_read_again() const { return can_be_read_again_; }

  // XXH3-64, as hex, of the (uncompressed) bytes of each file that has been read to its end.
  const std::vector<std::string>& digests() const { return digests_; }

  // Uncompressed, so far.
  uint64_t text_bytes() const { return text_bytes_; }

 private:
  TextChunks(std::vector<std::string> files, const RecordForm& form, size_t chunk_bytes);
  Status OpenNextFile();
  // Appends the rest of the last call and bytes of the file to *buffer, until it has `size`.
  Status Fill(std::string* buffer, size_t size);
  // Where a record of `buffer` ends: the last one that no empty line follows; 0: there is none.
  size_t CutOf(const std::string& buffer) const;
  // Keeps what is behind `cut` for the next call and numbers the chunk.
  void Take(size_t cut, TextChunk* chunk);
  Status RecordTooLong(const std::string& buffer) const;

  std::vector<std::string> files_;
  RecordForm form_;
  size_t chunk_bytes_;
  uint64_t bytes_total_ = 0;
  bool can_be_read_again_ = true;

  size_t next_file_ = 0;
  std::unique_ptr<ByteStream> stream_;  // of files_[next_file_ - 1]; null: none is open
  std::string rest_;                    // read and not given yet
  bool at_end_ = false;                 // of the stream
  uint64_t chunk_number_ = 0;
  uint64_t line_ = 1;          // of the first byte of rest_
  uint64_t lines_before_ = 0;  // of files before this one
  std::shared_ptr<const std::string> first_record_;
  uint64_t closed_bytes_ = 0;  // on disk, of files that are read
  uint64_t text_bytes_ = 0;
  std::vector<std::string> digests_;
};

}  // namespace rowhouse
