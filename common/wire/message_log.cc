#include "common/wire/message_log.h"

#include <optional>

#include "common/wire/header.h"

namespace rowhouse {
namespace {

std::optional<Header> HeaderOf(const Frames& frames) {
  if (frames.size() < 2) return std::nullopt;
  const Result<Header> header = DecodeHeader(frames[0].bytes(), frames[1].bytes());
  return header.ok() ? std::optional(header.value()) : std::nullopt;
}

}  // namespace

void MessageLog::OnRequest(const PeerId& peer, const Frames& frames, TimeNs ready, TimeNs at) {
  const std::optional<Header> header = HeaderOf(frames);
  if (!header) return;
  const bool is_push = header->type == MessageType::kPush;
  if (!is_push && header->type != MessageType::kPull) return;
  // Requests that are never answered must not fill the memory.
  if (under_way_.size() >= kMaxMessages) under_way_.clear();
  under_way_[{peer, header->request_id}] = {.request_id = header->request_id,
                                            .worker = header->sender,
                                            .is_push = is_push,
                                            .ready = ready,
                                            .begin = at};
}

void MessageLog::OnAnswer(const PeerId& peer, const Frames& frames, TimeNs at) {
  const std::optional<Header> header = HeaderOf(frames);
  // BUSY has the request's id, too: its answer is still to come.
  if (!header ||
      (header->type != MessageType::kPullReply && header->type != MessageType::kPushReply)) {
    return;
  }
  auto found = under_way_.extract({peer, header->request_id});
  if (found.empty()) return;
  found.mapped().end = at;
  if (answered_.size() < kMaxMessages) {
    answered_.push_back(found.mapped());
  } else {
    answered_[next_] = found.mapped();
    next_ = (next_ + 1) % kMaxMessages;
  }
}

std::vector<MessageTimes> MessageLog::Answered() const {
  const auto middle = answered_.begin() + static_cast<std::ptrdiff_t>(next_);
  std::vector<MessageTimes> in_order(middle, answered_.end());
  in_order.insert(in_order.end(), answered_.begin(), middle);
  return in_order;
}

void MessageLog::Clear() {
  under_way_.clear();
  answered_.clear();
  next_ = 0;
}

}  // namespace rowhouse
