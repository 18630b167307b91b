// rowhouse data imitate --data_size=LINES --out=FILE: a file of the shape of Criteo's.
#include "launch/data/imitate.h"

#include <fmt/core.h>
#include <glog/logging.h>

#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>

#include "common/clean_text.h"
#include "common/new_file.h"
#include "common/random.h"
#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

constexpr size_t kIntegers = 13, kTokens = 26;

// Different tokens of each column, as DLRM's preprocessing counts them.
constexpr std::array<uint64_t, kTokens> kKaggle = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};
constexpr std::array<uint64_t, kTokens> kTerabyte = {
    227605432, 39060,     17295,    7424,      20265,  3,     7122, 1543, 63,
    130229467, 3067956,   405282,   10,        2209,   11938, 155,  4,    976,
    14,        292775614, 40790948, 187188510, 590152, 12973, 108,  36};
// Of 100 lines, those whose field is empty, about as in Kaggle's data.
constexpr std::array<uint64_t, kIntegers> kEmptyIntegers = {45, 0, 21, 22, 3,  22, 4,
                                                            0,  4, 45, 4,  77, 22};
constexpr std::array<uint64_t, kTokens> kEmptyTokens = {0, 0, 3, 3, 0, 12, 0,  0, 0,  0, 0, 3,  0,
                                                        0, 0, 3, 0, 0, 44, 44, 3, 76, 0, 3, 44, 44};
// Integers are spread over this many powers of e.
constexpr std::array<double, kIntegers> kMagnitudes = {1.5, 5, 3,   2,   9,   5, 3,
                                                       3,   5, 0.7, 1.5, 0.7, 2};

constexpr size_t kBufferBytes = 4 << 20;

// Writes `lines` lines to a new file. Returns its bytes.
Result<uint64_t> WriteLines(const CriteoImitation& imitation, uint64_t lines,
                            const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Make(path));
  uint64_t bytes = 0;
  std::string text;
  for (uint64_t line = 0; line < lines; ++line) {
    imitation.AppendLine(line, &text);
    if (text.size() < kBufferBytes && line + 1 < lines) continue;
    RETURN_IF_ERROR(file->Append(text));
    bytes += text.size();
    text.clear();
  }
  RETURN_IF_ERROR(file->Commit());
  return bytes;
}

Status RunImitate(const CommandLine& command_line, const std::vector<std::string>& arguments,
                  const Settings& settings) {
  const std::string out = command_line.Value(kOutFlag);
  if (out.empty() || !arguments.empty()) {
    return UsageError("data imitate: expected --data_size=LINES --out=FILE and no other words");
  }
  if (std::filesystem::exists(out)) {
    return UsageError("\"{}\" exists already: remove it, or choose another name", out);
  }
  const DatasetOptions& data = settings.data;
  const std::string& data_set = FlagText(data, "data_set");
  const double exponent = ReadReal(FlagText(data, "zipf_exponent")).value();
  const CriteoImitation imitation(data_set, exponent, data.seed);
  ASSIGN_OR_RETURN(const uint64_t bytes, WriteLines(imitation, data.data_size, out));
  PrintClean("{}: {} made-up lines of the shape of Criteo's {} data, {}\n", out,
             CountText(static_cast<double>(data.data_size)), data_set, BytesText(bytes));
  return OkStatus();
}

REGISTER_MEMBER(
    AddDataCommand({.name = "imitate",
                    .arguments = "--data_size=LINES --out=FILE [--data_set=terabyte]",
                    .what = "makes up a file of the shape of Criteo's data, to measure with",
                    .run = RunImitate}));

}  // namespace

CriteoImitation::CriteoImitation(const std::string& data_set, double exponent, uint64_t seed)
    : key_(MixKey(seed, 0xc817e0)) {
  CHECK(data_set == "kaggle" || data_set == "terabyte") << data_set;
  for (const uint64_t rows : data_set == "kaggle" ? kKaggle : kTerabyte) {
    tokens_.emplace_back(rows, exponent);
  }
}

void CriteoImitation::AppendLine(uint64_t number, std::string* text) const {
  SplitMix64 bits(MixBits(key_, number));
  const auto percent = [&] { return (bits.Next() >> 32) * 100 >> 32; };
  char line[512];
  char* at = line;
  *at++ = percent() < 25 ? '1' : '0';
  for (size_t i = 0; i < kIntegers; ++i) {
    *at++ = '\t';
    if (percent() < kEmptyIntegers[i]) continue;
    const double power = kMagnitudes[i] * ToUnitDouble(bits.Next());
    at = std::to_chars(at, line + sizeof(line), static_cast<int64_t>(std::exp(power)) - 1).ptr;
  }
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < kTokens; ++i) {
    *at++ = '\t';
    if (percent() < kEmptyTokens[i]) continue;
    const uint64_t token = MixBits(i, tokens_[i].Draw(&bits));
    for (int shift = 28; shift >= 0; shift -= 4) *at++ = kDigits[token >> shift & 15];
  }
  *at++ = '\n';
  text->append(line, at);
}

}  // namespace rowhouse
