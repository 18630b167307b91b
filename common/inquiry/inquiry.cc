#include "common/inquiry/inquiry.h"

#include <glog/logging.h>
#include <signal.h>

#include <atomic>
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

}  // namespace rowhouse
