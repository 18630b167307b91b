#include "worker/data/blocks/split_index.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "common/clean_text.h"
#include "common/read_value.h"
#include "worker/data/text/byte_stream.h"

namespace rowhouse {
namespace {

constexpr std::array<std::string_view, 4> kPartNames = {"train", "valid", "test", "none"};

}  // namespace

Result<SplitIndex> ReadSplitIndex(const std::string& path, uint64_t samples) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(path));
  SplitIndex index;
  index.parts.reserve(samples);
  uint64_t line_number = 0;
  const auto add_line = [&](std::string_view line) -> Status {
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t blank = line.find(' ');
    const auto part = std::ranges::find(kPartNames, line.substr(0, blank));
    const auto count = blank == line.npos ? 1 : ReadWhole(line.substr(blank + 1)).value_or(0);
    if (part == kPartNames.end() || count == 0) {
      return UsageError(
          "split_index {}:{}: \"{}\" is not train, valid, test or none, or one of them and how "
          "many "
          "samples it is of",
          path, line_number, CleanText(line.substr(0, 40)));
    }
    if (count > samples - index.parts.size()) {
      return UsageError(
          "split_index {}:{}: this is of more samples than the {} of the data; give the index of "
          "these data, or --split_index= for none",
          path, line_number, samples);
    }
    index.parts.insert(index.parts.end(), count,
                       static_cast<SamplePart>(part - kPartNames.begin()));
    return OkStatus();
  };
  std::string text, piece(size_t{1} << 20, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const size_t bytes, stream->Read(piece.data(), piece.size()));
    text.append(piece, 0, bytes);
    if (bytes == 0 && !text.empty() && !text.ends_with('\n')) text += '\n';
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
      RETURN_IF_ERROR(add_line(std::string_view(text).substr(begin, end - begin)));
    }
    text.erase(0, begin);
    if (bytes == 0) break;
    constexpr size_t kLongestLine = 64;
    if (text.size() > kLongestLine) return add_line(text);  // refuses it
  }
  if (index.parts.size() < samples) {
    return UsageError(
        "split_index {} is of {} samples, and the data have {}; give the index of these data, or "
        "--split_index= for none",
        path, index.parts.size(), samples);
  }
  index.digest = stream->digest();
  return index;
}

}  // namespace rowhouse
