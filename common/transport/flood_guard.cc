#include "common/transport/flood_guard.h"

#include <fmt/format.h>
#include <glog/logging.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

#include "common/thread_name.h"

namespace rowhouse {
namespace {

constexpr int kLookMs = 10;
constexpr TimeMs kLookAnywayMs = 60000, kTrimMs = 1000, kTrimForMs = 60000;
// The process has grown if it takes so much more than at the last look.
constexpr uint64_t kGrownBytes = uint64_t{64} << 20;
// Less is what heartbeats and handshakes took, which nobody counts as read.
constexpr uint64_t kNothingBytes = uint64_t{64} << 10;

uint64_t ResidentBytes() {
  static const uint64_t page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  FILE* const file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long long size = 0, resident = 0;
  const int read = fscanf(file, "%llu %llu", &size, &resident);
  fclose(file);
  return read == 2 ? resident * page_bytes : 0;
}

// Bytes that the process has taken from the connection; nullopt: it is none.
std::optional<uint64_t> BytesTaken(int fd) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  constexpr uint8_t kEstablished = 1, kCloseWait = 8;
  if (info.tcpi_state != kEstablished && info.tcpi_state != kCloseWait) return std::nullopt;
  int in_kernel = 0;
  if (ioctl(fd, FIONREAD, &in_kernel) != 0) return std::nullopt;
  const auto waiting = static_cast<uint64_t>(in_kernel);
  return info.tcpi_bytes_received - std::min<uint64_t>(info.tcpi_bytes_received, waiting);
}

std::vector<int> OpenDescriptors() {
  std::vector<int> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    all.push_back(std::atoi(at->path().filename().c_str()));
  }
  return all;
}

}  // namespace

FloodGuard::FloodGuard(uint64_t process_bytes) : process_bytes_(process_bytes) {
  thread_ = std::thread([this] {
    NameThisThread("flood-guard");
    Run();
  });
}

FloodGuard::~FloodGuard() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    stopped_.NotifyOne();
  }
  thread_.join();
}

void FloodGuard::CountRead(int fd, uint64_t bytes) {
  const MutexLock lock(mutex_);
  read_[fd] += bytes;
}

void FloodGuard::Run() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      const auto end = CondVar::After(std::chrono::milliseconds(kLookMs));
      while (!is_stopping_ && stopped_.WaitUntil(mutex_, end)) continue;
      if (is_stopping_) return;
    }
    const uint64_t resident = ResidentBytes();
    const TimeMs now = clock_.NowMs();
    const bool is_near = resident > process_bytes_ - process_bytes_ / 8;
    resident_at_look_ = std::min(resident_at_look_, resident);
    if (is_near || resident > resident_at_look_ + kGrownBytes || now - looked_at_ > kLookAnywayMs) {
      Look(resident);
      looked_at_ = now;
      resident_at_look_ = resident;
    }
    if (now < trims_until_ && now - trimmed_at_ > kTrimMs) {
      malloc_trim(0);
      trimmed_at_ = now;
    }
  }
}

void FloodGuard::Look(uint64_t resident) {
  const bool is_near = resident > process_bytes_ - process_bytes_ / 8;
  uint64_t most = 0;
  int worst = -1;
  for (const int fd : OpenDescriptors()) {
    const std::optional<uint64_t> taken = BytesTaken(fd);
    if (!taken) continue;
    const MutexLock lock(mutex_);
    uint64_t& read = read_[fd];
    if (read > *taken) read = *taken;  // Another connection has this number now.
    const uint64_t unread = *taken - read;
    if (unread < kNothingBytes) read = *taken;
    if (unread <= most) continue;
    most = unread;
    worst = fd;
  }
  if (most <= (is_near ? kSoundBytes : kMaxBytes)) return;
  LOG(WARNING) << fmt::format(
      "hangs up on a peer that sends more than is read: {} MiB of it wait, and the process takes "
      "{} MiB",
      most >> 20, resident >> 20);
  shutdown(worst, SHUT_RDWR);
  trims_until_ = clock_.NowMs() + kTrimForMs;
}

}  // namespace rowhouse
