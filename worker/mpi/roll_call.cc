#include "worker/mpi/roll_call.h"

namespace rowhouse {
namespace {

std::string Join(const std::vector<std::string>& parts, const char* separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (!joined.empty()) joined += separator;
    joined += part;
  }
  return joined;
}

}  // namespace

Status DescribeRollCall(const RollCall& call, const std::vector<WorkerAddress>& addresses) {
  CHECK_EQ(addresses.size(), call.answers.size());
  const std::optional<RollCallAnswer>& own = call.answers.at(Raw(call.self));
  CHECK(own.has_value());

  std::vector<std::string> silent, late, elsewhere, waiting;
  for (size_t w = 0; w < addresses.size(); ++w) {
    if (w == Raw(call.self)) continue;
    const std::string name =
        fmt::format("worker {} (rank {} on {})", w, addresses[w].mpi_rank, addresses[w].host);
    const std::optional<RollCallAnswer>& answer = call.answers[w];
    if (!answer) {
      silent.push_back(name);
    } else if (answer->phase != own->phase) {
      elsewhere.push_back(fmt::format("{} is in \"{}\"", name, answer->phase));
    } else {
      (answer->came_late ? late : waiting).push_back(name);
    }
  }

  std::vector<std::string> parts;
  if (own->came_late) {
    const WorkerAddress& self = addresses[Raw(call.self)];
    parts.push_back(fmt::format(
        "this worker, {} (rank {} on {}), came when others had given up waiting after {} ms",
        Raw(call.self), self.mpi_rank, self.host, call.deadline_ms));
  }
  if (!silent.empty()) {
    parts.push_back(
        fmt::format("{} did not come within {} ms", Join(silent, ", "), call.deadline_ms));
  }
  if (!late.empty()) {
    parts.push_back(
        fmt::format("{} came too late, after {} ms", Join(late, ", "), call.deadline_ms));
  }
  if (!elsewhere.empty()) parts.push_back(Join(elsewhere, ", "));
  if (parts.empty()) {
    parts.push_back(
        fmt::format("all workers came, but the exchange did not end within {} ms: look at the "
                    "network between them",
                    call.deadline_ms));
  } else if (!waiting.empty() && !own->came_late) {
    parts.push_back("the others wait in the same phase");
  }
  return MakeStatus(StatusCode::kDeadlineExceeded, "{}: {}", own->phase, Join(parts, "; "));
}

}  // namespace rowhouse
