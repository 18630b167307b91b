#include "worker/data/text/text_chunks.h"

#include <fmt/ranges.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

namespace rowhouse {
namespace {

// ---- Is it text? -----------------------------------------------------------------------------

constexpr const char* kConvertElsewhere =
    "read it where it can be read and write the binary form from Python (docs/data_format.md), or "
    "save it as CSV";
constexpr const char* kUnpack = "unpack it and give the file in it";

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* what;
  const char* advice;
};

using namespace std::string_view_literals;

constexpr std::array kMagics = {
    Magic{0, "PAR1"sv, "a Parquet file", kConvertElsewhere},
    Magic{0, "PARE"sv, "an encrypted Parquet file", kConvertElsewhere},
    Magic{0, "ARROW1"sv, "an Arrow file", kConvertElsewhere},
    Magic{0, "ORC"sv, "an ORC file", kConvertElsewhere},
    Magic{0, "Obj\x01"sv, "an Avro file", kConvertElsewhere},
    Magic{0, "\x89HDF\r\n"sv, "an HDF5 file", kConvertElsewhere},
    Magic{0, "\x93NUMPY"sv, "a numpy array", kConvertElsewhere},
    Magic{0, "\x80\x02"sv, "a Python pickle", kConvertElsewhere},
    Magic{0, "\x80\x04"sv, "a Python pickle", kConvertElsewhere},
    Magic{0, "SQLite format 3"sv, "an SQLite database", "export its table as CSV"},
    Magic{0, "PK\x03\x04"sv, "a zip archive (or a spreadsheet, or numpy's npz)", kUnpack},
    Magic{0, "BZh"sv, "a bzip2 file", "unpack it, or compress it by gzip or zstd"},
    Magic{0,
          "\xfd"
          "7zXZ"sv,
          "an xz file", "unpack it, or compress it by gzip or zstd"},
    Magic{0, "7z\xbc\xaf"sv, "a 7-zip archive", kUnpack},
    Magic{0, "\x04\x22\x4d\x18"sv, "an LZ4 file", "unpack it, or compress it by gzip or zstd"},
    Magic{257, "ustar"sv, "a tar archive", kUnpack},
    Magic{0, "\xff\xfe"sv, "text in UTF-16", "save it in UTF-8"},
    Magic{0, "\xfe\xff"sv, "text in UTF-16", "save it in UTF-8"},
    Magic{0, "%PDF"sv, "a PDF document", kConvertElsewhere},
    Magic{0,
          "\x7f"
          "ELF"sv,
          "a program", "give a text file"},
    Magic{0, "<!DOCTYPE"sv, "an HTML page", "was a download answered by an error page?"},
    Magic{0, "<html"sv, "an HTML page", "was a download answered by an error page?"},
    Magic{0, "version https://git-lfs"sv, "a Git LFS pointer, not the file itself",
          "fetch it: git lfs pull"},
};

Status NotText(const std::string& file, std::string_view what, std::string_view advice) {
  return UsageError("\"{}\" is {}, not text that can be read here; {}", file, what, advice);
}

// UTF-16 without a mark: every other byte of plain text is zero, and hardly any of the rest.
bool LooksLikeUtf16(std::string_view head) {
  if (head.size() < 8) return false;
  size_t zeros[2] = {};
  for (size_t i = 0; i < head.size(); ++i) zeros[i % 2] += head[i] == '\0';
  return std::max(zeros[0], zeros[1]) * 2 > head.size() * 9 / 10 &&
         std::min(zeros[0], zeros[1]) * 10 < head.size();
}

}  // namespace

Status CheckIsText(std::string_view head, const std::string& file) {
  for (const Magic& magic : kMagics) {
    if (head.size() < magic.offset + magic.bytes.size()) continue;
    if (head.substr(magic.offset, magic.bytes.size()) != magic.bytes) continue;
    return NotText(file, magic.what, magic.advice);
  }
  if (LooksLikeUtf16(head)) return NotText(file, "text in UTF-16", "save it in UTF-8");
  if (head.find('\0') != std::string_view::npos) {
    return NotText(file, "a binary file (it has bytes of value 0)",
                   "give a text file; Criteo's 160-byte records are read by "
                   "--data_generation=criteo_binary, and what else holds samples can be written in "
                   "the binary form from Python (docs/data_format.md)");
  }
  const size_t begin = std::min(head.find_first_not_of(" \t\r\n"), head.size());
  const std::string_view text = head.substr(begin);
  if (text.starts_with("{\"") || text.starts_with("[{")) {
    return NotText(file, "JSON",
                   "save it as CSV, or write the binary form from Python "
                   "(docs/data_format.md)");
  }
  return OkStatus();
}

// ---- Which files? ----------------------------------------------------------------------------

namespace {

bool Exists(const std::string& path) {
  std::error_code ignored;  // What cannot be looked at is said when it is opened.
  return std::filesystem::exists(path, ignored);
}

Result<std::vector<std::string>> FilesOfPattern(const std::string& pattern) {
  glob_t found = {};
  const int result = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (result != 0) {
    return UsageError(
        "no file fits \"{}\"; check the pattern, relative ones start where the program was started",
        pattern);
  }
  std::ranges::sort(files, [](const std::string& a, const std::string& b) {
    return strverscmp(a.c_str(), b.c_str()) < 0;
  });
  return files;
}

Result<std::vector<std::string>> FilesOfDays(const std::string& path) {
  std::vector<std::string> days;
  while (Exists(fmt::format("{}_{}", path, days.size()))) {
    days.push_back(fmt::format("{}_{}", path, days.size()));
  }
  constexpr size_t kGap = 24;  // days that are looked for behind a missing one
  for (size_t day = days.size() + 1; day < days.size() + kGap; ++day) {
    if (!Exists(fmt::format("{}_{}", path, day))) continue;
    return UsageError(
        "\"{0}_{1}\" is missing, but \"{0}_{2}\" is there: files of days are read "
        "from 0 on without a gap",
        path, days.size(), day);
  }
  if (days.empty()) days.push_back(path);  // Opening it says what is wrong.
  return days;
}

Result<std::vector<std::string>> OneFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return std::vector{path};
  return UsageError("\"{}\" is a directory; name the file in it", path);
}

Result<std::vector<std::string>> FilesOfPart(const std::string& part) {
  if (part == "-") return std::vector{part};
  if (Exists(part)) return OneFile(part);
  if (part.find_first_of("*?[") != std::string::npos) return FilesOfPattern(part);
  return FilesOfDays(part);
}

// What can be read only once.
bool IsPipe(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  return path == "-" ||
         (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
          !std::filesystem::is_directory(status));
}

// Whether the line that ends right before `end` is empty.
bool IsEmptyLineBefore(const std::string& text, size_t end) {
  size_t begin = end - 1;
  if (begin > 0 && text[begin - 1] == '\r') --begin;
  return begin == 0 || text[begin - 1] == '\n';
}

uint64_t CountRecords(std::string_view text, const RecordForm& form) {
  if (form.bytes > 0) return text.size() / form.bytes;
  return static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

// CheckIsText on a regular file of text; returns its bytes on disk.
Result<uint64_t> LookAtFile(const std::string& file, const RecordForm& form) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(file));
  if (form.bytes > 0) return stream->bytes_total();
  std::string head(kFirstBytes, '\0');
  ASSIGN_OR_RETURN(const size_t got, stream->Read(head.data(), head.size()));
  head.resize(got);
  if (const Status status = CheckIsText(head, file); !status.ok()) {
    const std::string compression = stream->compression();
    if (compression.empty()) return status;
    return UsageError("{} (inside {})", status.message(), compression);
  }
  return stream->bytes_total();
}

// The first record of `text` without its line end.
std::string_view FirstRecord(std::string_view text, const RecordForm& form) {
  if (form.bytes > 0) return text.substr(0, form.bytes);
  bool is_in_quotes = false;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (form.has_quotes && text[end] == '"') is_in_quotes = !is_in_quotes;
    if (text[end] == '\n' && !is_in_quotes) break;
  }
  if (end > 0 && text[end - 1] == '\r') --end;
  return text.substr(0, end);
}

}  // namespace

Result<std::vector<std::string>> ExpandFiles(const std::string& list) {
  if (list.empty()) return UsageError("no file is named");
  if (Exists(list)) return OneFile(list);  // Commas and stars may be part of a name.
  std::vector<std::string> files;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string part = list.substr(begin, end - begin);
    if (part.empty()) return UsageError("\"{}\": a name between commas is empty", list);
    ASSIGN_OR_RETURN(const std::vector<std::string> some, FilesOfPart(part));
    files.insert(files.end(), some.begin(), some.end());
    begin = end + 1;
  }
  std::set<std::string_view> names;
  for (const std::string& file : files) {
    if (names.insert(file).second) continue;
    return UsageError("\"{}\": file \"{}\" is named twice", list, file);
  }
  if (files.size() > 1 && names.contains("-")) {
    return UsageError("\"{}\": \"-\", standard input, is read alone, without other files", list);
  }
  return files;
}

Result<std::string> FirstRecordOf(const std::string& file, const RecordForm& form) {
  if (IsPipe(file)) return std::string();
  ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open({file}, form, kFirstBytes));
  TextChunk chunk;
  ASSIGN_OR_RETURN(const bool is_there, chunks.Next(&chunk));
  return is_there ? *chunk.first_record : std::string();
}

TextChunks::TextChunks(std::vector<std::string> files, const RecordForm& form, size_t chunk_bytes)
    : files_(std::move(files)), form_(form), chunk_bytes_(chunk_bytes) {
  CHECK_GT(chunk_bytes_, 0u);
}

Result<TextChunks> TextChunks::Open(std::vector<std::string> files, const RecordForm& form,
                                    size_t chunk_bytes) {
  TextChunks chunks(std::move(files), form, chunk_bytes);
  for (const std::string& file : chunks.files_) {
    if (IsPipe(file)) {
      chunks.can_be_read_again_ = false;  // Looking at it would lose bytes.
      continue;
    }
    ASSIGN_OR_RETURN(const uint64_t bytes, LookAtFile(file, form));
    chunks.bytes_total_ += bytes;
  }
  if (!chunks.can_be_read_again_) chunks.bytes_total_ = 0;
  return chunks;
}

uint64_t TextChunks::bytes_done() const {
  return closed_bytes_ + (stream_ ? stream_->bytes_done() : 0);
}

Status TextChunks::OpenNextFile() {
  ASSIGN_OR_RETURN(stream_, ByteStream::Open(files_[next_file_]));
  ++next_file_;
  rest_.clear();
  at_end_ = false;
  line_ = 1;
  first_record_ = nullptr;
  if (form_.bytes > 0) return OkStatus();
  std::string head;
  RETURN_IF_ERROR(Fill(&head, kFirstBytes));
  RETURN_IF_ERROR(CheckIsText(head, files_[next_file_ - 1]));
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  rest_ = head.starts_with(kByteOrderMark) ? head.substr(kByteOrderMark.size()) : head;
  return OkStatus();
}

Status TextChunks::Fill(std::string* buffer, size_t size) {
  size_t had = buffer->size();
  if (had >= size) return OkStatus();
  const size_t known = std::min(rest_.size(), size - had);
  buffer->append(rest_, 0, known);
  rest_.erase(0, known);
  had += known;
  if (had == size || at_end_) return OkStatus();
  buffer->resize(size);
  ASSIGN_OR_RETURN(const size_t got, stream_->Read(buffer->data() + had, size - had));
  buffer->resize(had + got);
  text_bytes_ += got;
  at_end_ = had + got < size;
  return OkStatus();
}

size_t TextChunks::CutOf(const std::string& buffer) const {
  if (form_.bytes > 0) return buffer.size() - buffer.size() % form_.bytes;
  bool is_in_quotes =
      form_.has_quotes && std::count(buffer.begin(), buffer.end(), '"') % 2 != 0;  // at `end`
  for (size_t end = buffer.size(); end > 0; --end) {
    const char last = buffer[end - 1];
    if (last == '"' && form_.has_quotes) is_in_quotes = !is_in_quotes;
    if (last == '\n' && !is_in_quotes && !IsEmptyLineBefore(buffer, end)) return end;
  }
  return 0;
}

void TextChunks::Take(size_t cut, TextChunk* chunk) {
  rest_.insert(0, chunk->bytes, cut, std::string::npos);
  chunk->bytes.resize(cut);
  chunk->number = chunk_number_++;
  chunk->file = next_file_ - 1;
  chunk->file_name = files_[chunk->file];
  chunk->first_line = line_;
  chunk->lines_before = lines_before_;
  chunk->is_first_of_file = first_record_ == nullptr;
  if (chunk->is_first_of_file) {
    first_record_ = std::make_shared<const std::string>(FirstRecord(chunk->bytes, form_));
  }
  chunk->first_record = first_record_;
  line_ += CountRecords(chunk->bytes, form_);
}

Status TextChunks::RecordTooLong(const std::string& buffer) const {
  const bool is_quoted = form_.has_quotes &&
                         std::string_view(buffer).find_first_of("\"\n") != std::string_view::npos &&
                         buffer.find('\n') < kMaxRecordBytes;
  return UsageError("{}:{}: the line is longer than {} bytes; {}", files_[next_file_ - 1], line_,
                    kMaxRecordBytes,
                    is_quoted ? "is a double quote in it not closed? Close it, or set quotes: "
                                "false in section schema"
                              : "is this a text file?");
}

Result<bool> TextChunks::Next(TextChunk* chunk) {
  for (;;) {
    if (stream_ == nullptr) {
      if (next_file_ == files_.size()) return false;
      RETURN_IF_ERROR(OpenNextFile());
    }
    chunk->bytes.clear();
    for (size_t size = chunk_bytes_;; size *= 2) {
      RETURN_IF_ERROR(Fill(&chunk->bytes, size));
      if (at_end_ && rest_.empty()) break;
      if (const size_t cut = CutOf(chunk->bytes); cut > 0) {
        Take(cut, chunk);
        return true;
      }
      if (chunk->bytes.size() > kMaxRecordBytes) return RecordTooLong(chunk->bytes);
    }
    if (chunk->bytes.size() > kMaxRecordBytes && CutOf(chunk->bytes) == 0) {
      return RecordTooLong(chunk->bytes);
    }
    // The end of the file: all that is left is one chunk, without empty lines at its end.
    std::string& bytes = chunk->bytes;
    if (form_.bytes > 0 && bytes.size() % form_.bytes != 0) {
      return UsageError("\"{}\" ends within record {}: {} of its {} bytes are there",
                        files_[next_file_ - 1], line_ + bytes.size() / form_.bytes,
                        bytes.size() % form_.bytes, form_.bytes);
    }
    while (form_.bytes == 0 && bytes.ends_with('\n') && IsEmptyLineBefore(bytes, bytes.size())) {
      bytes.pop_back();
      if (bytes.ends_with('\r')) bytes.pop_back();
    }
    const bool is_chunk = !bytes.empty();
    if (is_chunk) Take(bytes.size(), chunk);
    const bool lacks_end = form_.bytes == 0 && is_chunk && !bytes.ends_with('\n');
    lines_before_ += line_ - 1 + (lacks_end ? 1 : 0);
    digests_.push_back(stream_->digest());
    closed_bytes_ += stream_->bytes_done();
    stream_ = nullptr;
    if (is_chunk) return true;
  }
}

Status TextChunks::SkipTo(uint64_t number) {
  TextChunk chunk;
  while (chunk_number_ < number) {
    ASSIGN_OR_RETURN(const bool more, Next(&chunk));
    if (!more) {
      return UsageError("the text has only {} of the {} chunks that were read of it before",
                        chunk_number_, number);
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
