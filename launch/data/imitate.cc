// rowhouse data imitate --data_size=LINES --out=FILE: a file of the shape of Criteo's.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "common/durable_file.h"
#include "launch/data/criteo_imitation.h"
#include "launch/data/data_verb.h"
#include "launch/report/figure_text.h"
#include "launch/settings/verb_flags.h"

namespace rowhouse {
namespace {

constexpr size_t kBufferBytes = 4 << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// Writes `lines` lines to a new file. Returns its bytes.
Result<uint64_t> WriteLines(const CriteoImitation& imitation, uint64_t lines,
                            const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "wbx"));
  if (file == nullptr) return StatusFromErrno(errno, "make", path);
  uint64_t bytes = 0;
  std::string text;
  for (uint64_t line = 0; line < lines; ++line) {
    imitation.AppendLine(line, &text);
    if (text.size() < kBufferBytes && line + 1 < lines) continue;
    if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) {
      return StatusFromErrno(errno, "write", path);
    }
    bytes += text.size();
    text.clear();
  }
  if (std::fflush(file.get()) != 0) return StatusFromErrno(errno, "write", path);
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
  const std::string unfinished = out + ".partial";
  std::error_code error;
  std::filesystem::remove(unfinished, error);
  const DatasetOptions& data = settings.data;
  const CriteoImitation imitation(data.data_set, data.zipf_exponent, data.seed);
  const Result<uint64_t> bytes = WriteLines(imitation, data.data_size, unfinished);
  if (!bytes.ok()) {
    std::filesystem::remove(unfinished, error);
    return bytes.status();
  }
  std::filesystem::rename(unfinished, out, error);
  if (error) return StatusFromErrno(error.value(), "rename to", out);
  fmt::print("{}: {} made-up lines of the shape of Criteo's {} data, {}\n", out,
             CountText(static_cast<double>(data.data_size)), data.data_set,
             BytesText(static_cast<double>(bytes.value())));
  return OkStatus();
}

const bool kRegistered =
    AddDataCommand({.name = "imitate",
                    .arguments = "--data_size=LINES --out=FILE [--data_set=terabyte]",
                    .what = "makes up a file of the shape of Criteo's data, to measure with",
                    .run = RunImitate});

}  // namespace
}  // namespace rowhouse
