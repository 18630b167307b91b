#include "common/inquiry/inquiry.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <signal.h>

#include <atomic>
#include <sstream>
#include <utility>

namespace rowhouse {
namespace {

std::atomic<uint64_t> g_asked = 0;
std::atomic<InquiryChannel*> g_channel = nullptr;

void OnSignal(int /*signal*/) { g_asked.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

void HearInquiries() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGURG, &action, nullptr);
}

void SetInquiryChannel(InquiryChannel* channel) { g_channel = channel; }

void HandOnAnswer(const std::string& waits) {
  if (InquiryChannel* const channel = g_channel) channel->Answer(waits);
}

void TellOfDeadline(const Waits& waits) {
  if (InquiryChannel* const channel = g_channel) channel->OnDeadline(ToText(waits));
}

Inquiry::Inquiry() : answered_(g_asked) {}

Inquiry& Inquiry::OfThisThread() {
  thread_local Inquiry inquiry;
  return inquiry;
}

bool Inquiry::IsAsked() {
  const uint64_t asked = g_asked.load(std::memory_order_relaxed);
  const bool is_asked = std::exchange(answered_, asked) != asked;
  InquiryChannel* const channel = g_channel;
  return channel == nullptr ? is_asked : channel->Hear(is_asked);
}

void Inquiry::Answer(const std::string& line, const Waits& waits) {
  LOG(WARNING) << line;
  HandOnAnswer(ToText(waits));
}

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
