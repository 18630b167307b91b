#include "ps/shard/shard_state.h"

#include <glog/logging.h>

#include <limits>

namespace rowhouse {

Header Outbox::ReplyHeader(const Header& request) const {
  Header header;
  header.job_id = job_id_;
  header.request_id = request.request_id;
  header.step = request.step;
  header.part = request.part;
  header.parts = request.parts;
  header.sender = Raw(shard_);
  header.incarnation = incarnation_;
  return header;
}

void Outbox::Refuse(const Request& request, const Status& status) {
  Answer(request, ErrorReply{.code = static_cast<uint8_t>(status.code()),
                             .message = std::string(status.message())});
}

void ShardState::Fail(const Status& status) {
  if (has_failed()) return;
  failure = status.Annotate(options.name);
  LOG(ERROR) << failure.message();
}

TimeMs ShardState::DeadlineOf(const Header& header) const {
  constexpr TimeMs kNever = std::numeric_limits<TimeMs>::max();
  return header.deadline_ms == 0 ? kNever : now + header.deadline_ms;
}

}  // namespace rowhouse
