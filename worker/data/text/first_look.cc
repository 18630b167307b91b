#include "worker/data/text/first_look.h"

#include <algorithm>
#include <array>

#include "worker/data/text/byte_stream.h"
#include "worker/data/text/field_text.h"

namespace rowhouse {
namespace {

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

// UTF-16 without a mark: every other byte of plain text is zero.
bool LooksLikeUtf16(std::string_view head) {
  if (head.size() < 8) return false;
  for (const size_t parity : {0, 1}) {
    size_t zeros = 0;
    for (size_t i = parity; i < head.size(); i += 2) zeros += head[i] == '\0';
    if (zeros * 2 > head.size() * 9 / 10) return true;
  }
  return false;
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
                   "give a text file; what else holds samples can be written in the binary form "
                   "from Python (docs/data_format.md)");
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

Result<uint64_t> LookAtFile(const std::string& file) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(file));
  std::string head(kFirstLookBytes, '\0');
  ASSIGN_OR_RETURN(const size_t got, stream->Read(head.data(), head.size()));
  head.resize(got);
  if (const Status status = CheckIsText(head, file); !status.ok()) {
    const std::string compression = stream->compression();
    if (compression.empty()) return status;
    return UsageError("{} (inside {})", status.message(), compression);
  }
  return stream->bytes_total();
}

std::string GuessOfText(std::string_view first_record) {
  constexpr std::string_view kSeparators = ",\t;|";
  constexpr std::array kNames = {"comma-separated values", "tab-separated values",
                                 "semicolon-separated values", "values separated by |"};
  size_t best = 0;
  const auto count = [&](size_t i) { return std::ranges::count(first_record, kSeparators[i]); };
  for (size_t i = 1; i < kSeparators.size(); ++i) best = count(i) > count(best) ? i : best;
  if (count(best) == 0) return "";
  bool has_header = true;  // no field is a number
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = first_record.find(kSeparators[best], begin);
    const std::string_view field = first_record.substr(begin, end - begin);
    has_header = has_header && !field.empty() && !DoubleOf(field);
  }
  return fmt::format(
      "; the file looks like {} {} ({}); `rowhouse data infer` writes the section schema of the "
      "YAML file for it",
      kNames[best], has_header ? "with a header" : "without a header", ShownField(first_record));
}

std::string_view FirstRecord(std::string_view text, bool has_quotes) {
  bool is_in_quotes = false;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    if (has_quotes && text[end] == '"') is_in_quotes = !is_in_quotes;
    if (text[end] == '\n' && !is_in_quotes) break;
  }
  if (end > 0 && text[end - 1] == '\r') --end;
  return text.substr(0, end);
}

}  // namespace rowhouse
