// Pushes on their way to the push log. A push is answered, and its step applied, when the log has
// it: what was answered is not lost, and rows are never ahead of the log.
#include "common/wire/codec.h"
#include "common/wire/push.h"
#include "ps/shard/shard.h"

namespace rowhouse {

void Shard::LogPush(const PeerId& peer, const Header& header, float learning_rate,
                    std::shared_ptr<const PushPart> part, TimeMs now) {
  LoggedPush push{.lsn = header.step + 1,
                  .step = header.step,
                  .incarnation = options_.incarnation,
                  .sequence = header.request_id,
                  .worker = header.sender,
                  .learning_rate = learning_rate,
                  .part = header.part,
                  .parts = header.parts,
                  .frames = {part->body.bytes(), part->ids.bytes(), part->gradients.bytes(),
                             part->counts.bytes()},
                  .owner = nullptr};
  if (!part->bags.empty()) {
    push.frames.push_back(part->bag_gradients.bytes());
    push.frames.push_back(part->bag_winners.bytes());
    // What they are bags of came with the pull; they stay until the step is applied.
    for (const TableBags& bags : part->bags) {
      const BagKey key(bags.list, bags.first_column, bags.bag_begin);
      const PulledBags& pulled = pushes_.at(header.step).bags[header.sender].at(key);
      push.frames.push_back(std::as_bytes(std::span(pulled.rows)));
      push.frames.push_back(std::as_bytes(std::span(pulled.slots)));
      push.frames.push_back(std::as_bytes(std::span(pulled.offsets)));
      push.frames.push_back(std::as_bytes(std::span(pulled.weights)));
    }
  }
  push.owner = std::move(part);
  const uint64_t ticket = next_ticket_++;
  logging_pushes_[ticket].push_back({peer, header, DeadlineOf(header, now)});
  actions_.emplace_back(AppendLog{.ticket = ticket,
                                  .push = std::make_shared<const LoggedPush>(std::move(push)),
                                  .lap = lap_began_});
}

void Shard::AnswerAgain(const PeerId& peer, const Header& header, TimeMs now) {
  for (auto& [ticket, waiting] : logging_pushes_) {
    const Header& first = waiting.front().header;
    if (first.step != header.step || first.sender != header.sender || first.part != header.part) {
      continue;
    }
    waiting.push_back({peer, header, DeadlineOf(header, now)});
    return;
  }
  Send(peer, EncodeMessage(ReplyHeader(header), PushReply{}));
}

void Shard::OnLogAppended(const LogAppended& event) {
  if (!event.status.ok()) Fail(event.status);
  if (!failure_.ok()) return;
  stats_.log_bytes = event.log_bytes;
  const auto push = logging_pushes_.extract(event.ticket);
  CHECK(!push.empty()) << "append " << event.ticket << " ended twice";
  const Header& header = push.mapped().front().header;
  // A step is applied when all of it is in the log, so it is still there.
  ++pushes_.at(header.step).workers[header.sender].answered;
  for (const LoggingPush& waiting : push.mapped()) {
    Send(waiting.peer, EncodeMessage(ReplyHeader(waiting.header), PushReply{}));
  }
}

}  // namespace rowhouse
