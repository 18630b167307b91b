#include "launch/report/restarts.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "common/status.h"

namespace rowhouse {
namespace {

constexpr const char* kVariable = "ROWHOUSE_RESTARTS";

double SecondsSince1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::vector<RunReport::Restart> ReadRestarts(const char* text, uint64_t first_step, double now) {
  const Result<nlohmann::json> json = ParseJson(text);
  if (!json.ok()) return {};
  std::vector<RunReport::Restart> restarts;
  for (const nlohmann::json& one : json.value()) {
    const auto number = [&one](const char* key, double otherwise) {
      const auto found = one.find(key);
      return found == one.end() || !found->is_number() ? otherwise : found->get<double>();
    };
    RunReport::Restart restart = {
        .why = one.value("why", ""),
        .reached_step = static_cast<uint64_t>(number("reached_step", 0)),
        .from_step = static_cast<uint64_t>(number("from_step", static_cast<double>(first_step))),
        .seconds_lost = number("began_at", now) - number("stopped_at", now)};
    if (restart.reached_step > restart.from_step) {
      restart.steps_repeated = restart.reached_step - restart.from_step;
    }
    restarts.push_back(std::move(restart));
  }
  return restarts;
}

}  // namespace

std::unique_ptr<Restarts> Restarts::Begin(const std::string& model_dir, uint64_t first_step) {
  const char* const text = std::getenv(kVariable);
  if (text == nullptr || model_dir.empty()) return nullptr;
  const double now = SecondsSince1970();
  std::unique_ptr<Restarts> restarts(new Restarts);
  restarts->before_ = ReadRestarts(text, first_step, now);
  const std::string path = model_dir + "/steps_done";
  restarts->fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  const std::string begin = fmt::format("{} {:.3f} ", first_step, now);
  restarts->steps_at_ = begin.size();
  const ssize_t written = pwrite(restarts->fd_, begin.data(), begin.size(), 0);
  LOG_IF(WARNING, written < 0) << "cannot write " << path << " (" << std::strerror(errno)
                               << "): a restart will not know how far this run came";
  restarts->AfterStep(first_step);
  return restarts;
}

Restarts::~Restarts() { close(fd_); }

void Restarts::AfterStep(uint64_t steps) const {
  const std::string text = fmt::format("{:020}\n", steps);
  [[maybe_unused]] const ssize_t written =  // Begin has warned.
      pwrite(fd_, text.data(), text.size(), static_cast<off_t>(steps_at_));
}

std::string Restarts::SummaryText() const {
  if (before_.empty()) return "";
  uint64_t steps = 0;
  double seconds = 0.0;
  for (const RunReport::Restart& one : before_) {
    steps += one.steps_repeated;
    seconds += one.seconds_lost;
  }
  return fmt::format("restarts: {}, by which {} steps were trained again and {:.1f} s passed\n",
                     before_.size(), steps, seconds);
}

}  // namespace rowhouse
