#include "ps/shard/pushes.h"

#include <fmt/ranges.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "common/wire/push.h"

namespace rowhouse {

Pushes::Pushes(ShardState& state, LocalTables& tables) : state_(state), tables_(tables) {
  for (const LocalSlice* slice : tables_.slices()) rows_here_ += slice->range.rows();
}

WorkerPush& Pushes::PushOf(const Header& header) {
  StepPushes& step = steps_[header.step];
  step.workers.resize(state_.options.workers);
  return step.workers[header.sender];
}

void Pushes::Take(const Request& request, PushPart part, bool is_applying) {
  const Header& header = request.header;
  const uint64_t next = state_.next_step;
  if (header.step < next || (is_applying && header.step == next)) {
    return state_.out.Answer(request, PushReply{});
  }
  auto kept = std::make_shared<PushPart>(std::move(part));
  bool is_new = false;
  if (const Status status = Keep(header, kept, &is_new); !status.ok()) {
    return state_.out.Refuse(request, status);
  }
  if (!is_new) return AnswerAgain(request);
  Count(*kept);
  WorkerPush& push = PushOf(header);
  if (state_.options.node.logs_pushes()) return Log(request, push, std::move(kept));
  ++push.answered;
  state_.out.Answer(request, PushReply{});
}

// A push names each row, and each bag that was pulled, once.
Status Pushes::CheckSize(const WorkerPush& push, const Header& header, const PushPart& part) const {
  if (push.rows + part.rows() <= rows_here_ &&
      push.bags + part.bags.size() <= push.pulled_bags.size()) {
    return OkStatus();
  }
  return CorruptionError(
      "{}: worker {} pushes {} rows and {} lists of bags in step {}; {} and {} lie "
      "here",
      state_.options.name, header.sender, push.rows + part.rows(), push.bags + part.bags.size(),
      header.step, rows_here_, push.pulled_bags.size());
}

Status Pushes::Keep(const Header& header, std::shared_ptr<PushPart> part, bool* is_new) {
  const std::string& name = state_.options.name;
  if (header.step > state_.next_step + kMaxStepsAhead) {
    return MakeStatus(StatusCode::kInternal, "{}: push of step {}, but step {} is next", name,
                      header.step, state_.next_step);
  }
  if (!part->bags.empty()) {
    RETURN_IF_ERROR(CheckPushedBags(part->pushed_bags(), PushOf(header).pulled_bags, tables_, name,
                                    header.sender, header.step));
  }
  WorkerPush& push = PushOf(header);
  if (push.parts_expected != 0 && push.parts_expected != header.parts) {
    return CorruptionError("{}: worker {} pushes step {} in {} parts, then in {}", name,
                           header.sender, header.step, push.parts_expected, header.parts);
  }
  push.parts_expected = header.parts;
  *is_new = !push.parts.contains(header.part);
  if (!*is_new) return OkStatus();
  RETURN_IF_ERROR(CheckSize(push, header, *part));
  const uint64_t bytes = part->bytes();
  RETURN_IF_ERROR(part->held.Take(*state_.options.request_memory, bytes + kRequestBytes, name));
  push.rows += part->rows();
  push.bags += part->bags.size();
  push.parts.emplace(header.part, std::move(part));
  state_.push_bytes += bytes;
  state_.most_push_bytes = std::max(state_.most_push_bytes, state_.push_bytes);
  return OkStatus();
}

void Pushes::Count(const PushPart& part) {
  state_.counters.rows_pushed += part.rows();
  for (const LocalRows& rows : part.tables) tables_[rows.table].rows_pushed += rows.rows;
}

Status Pushes::NotePulled(const Header& header, std::vector<PulledBags> bags) {
  // No push of a step that was applied meanwhile will be taken.
  if (header.step < state_.next_step) return OkStatus();
  WorkerPush& push = PushOf(header);
  for (PulledBags& one : bags) {
    const auto before = push.pulled_bags.find(KeyOf(one.part));
    // Parts of the push that are here were checked against what was pulled before.
    if (push.parts_expected != 0 && before != push.pulled_bags.end() && before->second != one) {
      return CorruptionError(
          "{}: worker {} pulls other bags of table {} in step {} than those it pushes",
          state_.options.name, header.sender, one.part.table, header.step);
    }
    if (before != push.pulled_bags.end() && before->second == one) continue;  // Pulled again.
    RETURN_IF_ERROR(
        push.held.Take(*state_.options.request_memory, one.bytes(), state_.options.name));
    const BagKey key = KeyOf(one.part);
    push.pulled_bags.insert_or_assign(key, std::move(one));
  }
  return OkStatus();
}

void Pushes::Forget(uint64_t step) {
  const auto of_step = steps_.find(step);
  if (of_step == steps_.end()) return;
  for (const WorkerPush& worker : of_step->second.workers) {
    for (const auto& [number, part] : worker.parts) state_.push_bytes -= part->bytes();
  }
  steps_.erase(of_step);
}

bool Pushes::IsComplete(uint64_t step) const {
  const auto pushed = steps_.find(step);
  return pushed != steps_.end() &&
         std::ranges::all_of(pushed->second.workers, &WorkerPush::is_complete);
}

uint64_t Pushes::RecordBytesOfNext() const {
  uint64_t bytes = 0;
  for (const WorkerPush& worker : OfNext().workers) {
    for (const auto& [number, part] : worker.parts) {
      for (const LocalRows& rows : part->tables) {
        bytes += rows.rows * tables_[rows.table].layout.bytes();
      }
    }
    for (const auto& [key, bags] : worker.pulled_bags) {
      bytes += bags.rows.size() * tables_[bags.table].layout.bytes();
    }
  }
  return bytes;
}

std::vector<uint32_t> Pushes::Missing() const {
  const auto step = steps_.find(state_.next_step);
  std::vector<uint32_t> missing;
  for (uint32_t worker = 0; worker < state_.options.workers; ++worker) {
    if (step != steps_.end() && step->second.workers[worker].is_complete()) continue;
    missing.push_back(worker);
  }
  return missing;
}

std::string Pushes::DescribeMissing() const {
  const std::vector<uint32_t> missing = Missing();
  if (missing.empty()) return "all pushes are here";
  return fmt::format("no push of it came from worker {}", fmt::join(missing, ", "));
}

// ---- The log ----------------------------------------------------------------------------------

void Pushes::Log(const Request& request, const WorkerPush& of_worker,
                 std::shared_ptr<const PushPart> part) {
  const Header& header = request.header;
  LoggedPush push{.lsn = header.step + 1,
                  .step = header.step,
                  .incarnation = state_.options.incarnation,
                  .sequence = header.request_id,
                  .worker = header.sender,
                  .learning_rate = part->learning_rate,
                  .part = header.part,
                  .parts = header.parts,
                  .frames = {part->body.bytes(), part->ids.bytes(), part->gradients.bytes(),
                             part->counts.bytes()},
                  .owner = nullptr};
  if (!part->bags.empty()) {
    push.frames.push_back(part->bag_gradients.bytes());
    push.frames.push_back(part->bag_winners.bytes());
    // What they are bags of came with the pull; that stays until the step is applied.
    for (const TableBags& bags : part->bags) {
      const PulledBags& pulled = of_worker.pulled_bags.at(KeyOf(bags));
      push.frames.push_back(std::as_bytes(std::span(pulled.rows)));
      push.frames.push_back(std::as_bytes(std::span(pulled.slots)));
      push.frames.push_back(std::as_bytes(std::span(pulled.offsets)));
      push.frames.push_back(std::as_bytes(std::span(pulled.weights)));
    }
  }
  push.owner = std::move(part);
  const uint64_t ticket = state_.out.TakeTicket();
  logging_[ticket].push_back(request);
  state_.out.Add(AppendLog{.ticket = ticket,
                           .push = std::make_shared<const LoggedPush>(std::move(push)),
                           .lap = state_.lap_began});
}

// A part that is here already: with a log it may still be on its way there.
void Pushes::AnswerAgain(const Request& request) {
  const Header& header = request.header;
  for (auto& [ticket, waiting] : logging_) {
    const Header& first = waiting.front().header;
    if (first.step != header.step || first.sender != header.sender || first.part != header.part) {
      continue;
    }
    waiting.push_back(request);
    return;
  }
  state_.out.Answer(request, PushReply{});
}

void Pushes::OnLogAppended(const LogAppended& event) {
  if (!event.status.ok()) state_.Fail(event.status);
  if (state_.has_failed()) return;
  state_.counters.log_bytes = event.log_bytes;
  const auto push = logging_.extract(event.ticket);
  CHECK(!push.empty()) << "append " << event.ticket << " ended twice";
  const Header& header = push.mapped().front().header;
  // A step is applied when all of it is in the log, so it is still there.
  ++steps_.at(header.step).workers[header.sender].answered;
  for (const Request& waiting : push.mapped()) state_.out.Answer(waiting, PushReply{});
}

void Pushes::ForEachWaiting(const std::function<void(Request&)>& visit) {
  for (auto& [ticket, requests] : logging_) {
    for (Request& request : requests) visit(request);
  }
}

}  // namespace rowhouse
