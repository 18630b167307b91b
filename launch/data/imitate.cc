// rowhouse data imitate --data_size=LINES --out=FILE: a file of the shape of Criteo's.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "common/clean_text.h"
#include "common/new_file.h"
#include "common/read_value.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/criteo_imitation.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

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
             CountText(static_cast<double>(data.data_size)), data_set,
             BytesText(static_cast<double>(bytes)));
  return OkStatus();
}

REGISTER_MEMBER(
    AddDataCommand({.name = "imitate",
                    .arguments = "--data_size=LINES --out=FILE [--data_set=terabyte]",
                    .what = "makes up a file of the shape of Criteo's data, to measure with",
                    .run = RunImitate}));

}  // namespace
}  // namespace rowhouse
