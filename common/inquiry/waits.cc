#include "common/inquiry/waits.h"

#include <fmt/format.h>

#include <sstream>

namespace rowhouse {

std::string ToText(const Waits& waits) {
  constexpr size_t kMaxBytes = 2900, kMaxNoteBytes = 500;
  std::string lines;
  uint64_t left_out = waits.left_out;
  for (const Wait& wait : waits.waits) {
    const std::string line = fmt::format("{}\t{}\t{}\n", wait.ms, wait.peer, wait.what);
    if (lines.size() + line.size() > kMaxBytes) {
      ++left_out;
    } else {
      lines += line;
    }
  }
  return fmt::format("{}\n{}\n{}\n{}", waits.who, waits.note.substr(0, kMaxNoteBytes), left_out,
                     lines);
}

Waits WaitsFromText(const std::string& text) {
  Waits waits;
  std::istringstream lines(text);
  std::getline(lines, waits.who);
  std::getline(lines, waits.note);
  lines >> waits.left_out;
  for (Wait wait; lines >> wait.ms && lines.get() == '\t' && std::getline(lines, wait.peer, '\t') &&
                  std::getline(lines, wait.what);) {
    waits.waits.push_back(wait);
  }
  return waits;
}

}  // namespace rowhouse
