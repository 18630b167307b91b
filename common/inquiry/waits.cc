#include "common/inquiry/waits.h"

#include <fmt/format.h>

#include <sstream>

namespace rowhouse {

std::string ToText(const Waits& waits) {
  constexpr size_t kMaxBytes = 3500, kMaxNoteBytes = 500;
  std::string text = waits.who + "\n" + waits.note.substr(0, kMaxNoteBytes) + "\n";
  for (const Wait& wait : waits.waits) {
    const std::string line = fmt::format("{}\t{}\t{}\n", wait.ms, wait.peer, wait.what);
    if (text.size() + line.size() > kMaxBytes) break;
    text += line;
  }
  return text;
}

Waits WaitsFromText(const std::string& text) {
  Waits waits;
  std::istringstream lines(text);
  std::getline(lines, waits.who);
  std::getline(lines, waits.note);
  for (Wait wait; lines >> wait.ms && lines.get() == '\t' && std::getline(lines, wait.peer, '\t') &&
                  std::getline(lines, wait.what);) {
    waits.waits.push_back(wait);
  }
  return waits;
}

}  // namespace rowhouse
