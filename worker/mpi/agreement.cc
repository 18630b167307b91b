#include "worker/mpi/agreement.h"

#include <set>
#include <span>

namespace rowhouse {
namespace {

std::string_view TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// By rank.
Result<std::vector<Status>> StatusOfAll(Communicator& ranks, const Status& mine,
                                        const std::string& phase) {
  std::string bytes(1, static_cast<char>(mine.code()));
  bytes += mine.message();
  ASSIGN_OR_RETURN(const auto all, ranks.AllGather(std::as_bytes(std::span(bytes)), phase));
  std::vector<Status> statuses;
  for (const std::vector<std::byte>& one : all) {
    const std::string_view text = TextOf(one);
    statuses.emplace_back(static_cast<StatusCode>(text[0]), std::string(text.substr(1)));
  }
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

}  // namespace rowhouse
