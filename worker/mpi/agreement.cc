#include "worker/mpi/agreement.h"

#include <chrono>
#include <future>
#include <set>
#include <span>
#include <thread>

namespace rowhouse {
namespace {

std::string_view TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string BytesOf(const Status& status) {
  return std::string(1, static_cast<char>(status.code())) + status.message();
}

Status StatusOf(std::string_view bytes) {
  return Status(static_cast<StatusCode>(bytes[0]), std::string(bytes.substr(1)));
}

// By rank.
Result<std::vector<Status>> StatusOfAll(Communicator& ranks, const Status& mine,
                                        const std::string& phase) {
  const std::string bytes = BytesOf(mine);
  ASSIGN_OR_RETURN(const auto all, ranks.AllGather(std::as_bytes(std::span(bytes)), phase));
  std::vector<Status> statuses;
  for (const std::vector<std::byte>& one : all) statuses.push_back(StatusOf(TextOf(one)));
  return statuses;
}

}  // namespace

Status Agree(Communicator& ranks, const Status& mine, const std::string& phase) {
  ASSIGN_OR_RETURN(const std::vector<Status> all, StatusOfAll(ranks, mine, phase));
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::set<std::string_view> seen;
  for (const Status& one : all) {
    if (one.ok() || !seen.insert(one.message()).second) continue;
    if (code == StatusCode::kOk) code = one.code();
    if (!message.empty()) message += "\n";
    message += one.message();
  }
  return Status(code, message);
}

Status AgreeOnOne(Communicator& ranks, const Status& mine, const std::string& phase,
                  bool* is_agreed) {
  *is_agreed = false;
  const Result<std::vector<Status>> all = StatusOfAll(ranks, mine, phase);
  if (!all.ok()) return mine.ok() ? all.status() : mine;
  Status told;
  for (const Status& one : all.value()) {
    const bool is_mendable = one.code() == StatusCode::kUsage;
    if (told.ok() || (is_mendable && told.code() != StatusCode::kUsage)) told = one;
  }
  *is_agreed = !told.ok();
  return told;
}

bool CanBeAgreedOn(const Status& status) {
  return status.ok() || status.code() == StatusCode::kUsage ||
         status.code() == StatusCode::kInternal;
}

Status AgreeIfPossible(Communicator& ranks, const Status& mine, const std::string& phase,
                       bool* is_agreed) {
  return CanBeAgreedOn(mine) ? AgreeOnOne(ranks, mine, phase, is_agreed) : mine;
}

Result<std::string> BroadcastFromFirst(Communicator& ranks, const std::string& bytes,
                                       const std::string& phase) {
  const std::string mine = Raw(ranks.rank()) == 0 ? bytes : std::string();
  ASSIGN_OR_RETURN(const auto all, ranks.AllGather(std::as_bytes(std::span(mine)), phase));
  return std::string(TextOf(all[0]));
}

Status DoOnFirst(Communicator& ranks, const std::function<Status(std::stop_token)>& work,
                 const std::atomic<bool>& stop, const std::string& phase) {
  constexpr std::chrono::seconds kBetweenMeetings(1);
  std::promise<Status> promise;
  std::future<Status> ended = promise.get_future();
  std::jthread thread;  // Asked to stop, and joined, when this returns.
  const bool is_first = Raw(ranks.rank()) == 0;
  if (is_first) {
    thread =
        std::jthread([&](std::stop_token token) { promise.set_value(work(std::move(token))); });
  }
  for (;;) {
    std::string mine;  // "": it goes on.
    if (is_first && ended.wait_for(kBetweenMeetings) == std::future_status::ready) {
      mine = BytesOf(ended.get());
    }
    if (is_first && stop) thread.request_stop();
    ASSIGN_OR_RETURN(const std::string of_first, BroadcastFromFirst(ranks, mine, phase));
    if (!of_first.empty()) return StatusOf(of_first);
  }
}

}  // namespace rowhouse
