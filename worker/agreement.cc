#include "worker/agreement.h"

#include <set>
#include <span>

namespace rowhouse {
namespace {

std::string_view TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Status Agree(Communicator& ranks, const Status& mine, const std::string& phase) {
  std::string bytes(1, static_cast<char>(mine.code()));
  bytes += mine.message();
  ASSIGN_OR_RETURN(const auto all, ranks.AllGather(std::as_bytes(std::span(bytes)), phase));
  StatusCode code = StatusCode::kOk;
  std::string message;
  std::set<std::string_view> seen;
  for (const std::vector<std::byte>& one : all) {
    const std::string_view text = TextOf(one);
    const auto its_code = static_cast<StatusCode>(text[0]);
    if (its_code == StatusCode::kOk || !seen.insert(text.substr(1)).second) continue;
    if (code == StatusCode::kOk) code = its_code;
    if (!message.empty()) message += "\n";
    message += text.substr(1);
  }
  return Status(code, message);
}

Result<std::string> BroadcastFromFirst(Communicator& ranks, const std::string& bytes,
                                       const std::string& phase) {
  const std::string mine = Raw(ranks.rank()) == 0 ? bytes : std::string();
  ASSIGN_OR_RETURN(const auto all, ranks.AllGather(std::as_bytes(std::span(mine)), phase));
  return std::string(TextOf(all[0]));
}

}  // namespace rowhouse
