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
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "common/thread_name.h"

namespace rowhouse {
namespace {

constexpr int kLookMs = 10;
constexpr TimeMs kLookAnywayMs = 60000, kTrimMs = 1000, kTrimAgainMs = 100, kTrimForMs = 60000,
                 kForgiveMs = 60000;
// The process has grown if it takes so much more than at the last look.
constexpr uint64_t kGrownBytes = uint64_t{64} << 20;
// Less is what heartbeats and handshakes took, which nobody counts as read; now and then it is.
constexpr uint64_t kNothingBytes = uint64_t{64} << 10;
// Messages are of another size after this many bytes, at the latest.
constexpr uint64_t kLastBytes = uint64_t{16} << 10;
// What libzmq's buffer for a read takes (8192 bytes, and counters of the messages in it), and over
// how many bytes reads are averaged: unread ones may have come a while ago.
constexpr uint64_t kBufferBytes = uint64_t{16} << 10, kLastReadBytes = uint64_t{4} << 20;
// Near the limit all connections together may have a quarter of it, as a sound run's requests have
// (ps/shard/memory_budget.h), or what the rest of the process leaves but for a sixteenth; and a
// sixteenth in any case.
constexpr uint64_t kSoundPart = 4, kMinPart = 16;
// What malloc keeps of freed memory near the limit is given back where the process has grown by so
// much.
constexpr uint64_t kTrimPart = 32;
// It is looked whenever so much has been read, and no more is read at once.
constexpr uint64_t kReadBytes = uint64_t{256} << 10;
// After so long in vain it hangs up.
constexpr TimeMs kInVainMs = 1000;
// A thread that may not read comes back at once, so it sleeps for so long now and then.
constexpr int kPauseMs = 1;
// Connections that may go on while others wait take this part of the limit together; handshakes and
// heartbeats, which nobody counts as read, fit into the least.
constexpr uint64_t kSparedPart = 64, kMinSpared = uint64_t{4} << 10,
                   kMaxSpared = uint64_t{64} << 10;
constexpr TimeMs kEndedMs = 3000;
constexpr int kFloodLogSeconds = 10;
constexpr size_t kDiscardBytes = size_t{1} << 30;

uint64_t ResidentBytes() {
  static const uint64_t page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  FILE* const file = fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long long size = 0, resident = 0;
  const int read = fscanf(file, "%llu %llu", &size, &resident);
  fclose(file);
  return read == 2 ? resident * page_bytes : 0;
}

// 0: it is no socket any more.
uint64_t IdOfSocket(int fd) {
  uint64_t id = 0;
  socklen_t length = sizeof(id);
  return getsockopt(fd, SOL_SOCKET, SO_COOKIE, &id, &length) == 0 ? id : 0;
}

// Bytes read of Unix sockets, by socket: the kernel does not count them.
Mutex local_bytes_mutex;
std::map<uint64_t, uint64_t> local_bytes GUARDED_BY(local_bytes_mutex);
std::atomic<bool> has_local_listeners = false;

void CountIfLocal(int fd, uint64_t bytes) {
  int domain = 0;
  socklen_t length = sizeof(domain);
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0 || domain != AF_UNIX) return;
  const uint64_t id = IdOfSocket(fd);
  const MutexLock lock(local_bytes_mutex);
  local_bytes[id] += bytes;
}

std::optional<uint64_t> LocalBytesTaken(int fd) {
  const MutexLock lock(local_bytes_mutex);
  if (local_bytes.empty()) return std::nullopt;
  const auto found = local_bytes.find(IdOfSocket(fd));
  if (found == local_bytes.end()) return std::nullopt;
  return found->second;
}

// Bytes that the process has taken from the connection; nullopt: it is none.
std::optional<uint64_t> BytesTaken(int fd) {
  tcp_info info = {};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return LocalBytesTaken(fd);
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

// Those that have a limit.
Mutex limited_guards_mutex;
std::vector<FloodGuard*> limited_guards GUARDED_BY(limited_guards_mutex);
std::atomic<bool> is_any_limited = false;

}  // namespace

FloodGuard::FloodGuard(uint64_t process_bytes)
    : process_bytes_(process_bytes), spared_bytes_(kMaxSpared) {
  if (process_bytes_ < std::numeric_limits<uint64_t>::max()) {
    const MutexLock lock(limited_guards_mutex);
    limited_guards.push_back(this);
    is_any_limited = true;
  }
  thread_ = std::thread([this] {
    NameThisThread("flood-guard");
    Run();
  });
}

FloodGuard::~FloodGuard() {
  {
    const MutexLock lock(limited_guards_mutex);
    std::erase(limited_guards, this);
    is_any_limited = !limited_guards.empty();
  }
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    stopped_.NotifyOne();
  }
  thread_.join();
}

void FloodGuard::Last::Add(uint64_t more, uint64_t more_memory, uint64_t window_bytes) {
  bytes += more;
  memory_bytes += more_memory;
  while (bytes > window_bytes) {
    bytes /= 2;
    memory_bytes /= 2;
  }
}

uint64_t FloodGuard::Last::MemoryOf(uint64_t unread) const {
  const double weight = static_cast<double>(memory_bytes + 1) / static_cast<double>(bytes + 1);
  return static_cast<uint64_t>(static_cast<double>(unread) * std::max(1.0, weight));
}

bool FloodGuard::CountRead(int fd, uint64_t bytes, uint64_t memory_bytes) {
  const SocketId id = IdOfSocket(fd);
  const MutexLock lock(mutex_);
  unread_bytes_ -= static_cast<int64_t>(bytes);
  if (const auto hung_up = hung_up_.find(fd); hung_up != hung_up_.end()) {
    if (id == 0 || id == hung_up->second) return false;
    hung_up_.erase(hung_up);
  }
  last_.Add(bytes, memory_bytes, kLastBytes);
  if (id == 0) return true;
  Taken& taken = taken_[id];
  taken.bytes += bytes;
  taken.last.Add(bytes, memory_bytes, kLastBytes);
  return true;
}

void FloodGuard::CountInHand(uint64_t before, uint64_t now) {
  const MutexLock lock(mutex_);
  in_hand_bytes_ += now - before;
}

void FloodGuard::Run() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      const auto end = CondVar::After(std::chrono::milliseconds(kLookMs));
      while (!is_stopping_ && stopped_.WaitUntil(mutex_, end)) continue;
      if (is_stopping_) return;
    }
    const MutexLock looking(looking_);
    LookNow();
  }
}

void FloodGuard::LookNow() {
  const uint64_t resident = ResidentBytes();
  const TimeMs now = clock_.NowMs();
  resident_at_look_ = std::min(resident_at_look_, resident);
  if (IsNear(resident) || resident > resident_at_look_ + kGrownBytes ||
      now - looked_at_ > kLookAnywayMs) {
    Look(resident, /*in_vain=*/false);
    looked_at_ = now;
    resident_at_look_ = resident;
  }
  const bool is_full = IsFull();
  if (is_full && HasWaitedInVain()) Look(resident, /*in_vain=*/true);
  const bool has_grown = IsNear(resident) && resident > trimmed_to_ + process_bytes_ / kTrimPart;
  if ((now < trims_until_ || IsNear(resident)) &&
      now - trimmed_at_ > (is_full || has_grown ? kTrimAgainMs : kTrimMs)) {
    malloc_trim(0);
    trimmed_at_ = now;
    trimmed_to_ = ResidentBytes();
  }
}

// ---- While libzmq reads -------------------------------------------------------------------------

size_t FloodGuard::MayRead(int fd, size_t bytes) {
  if (!is_any_limited.load(std::memory_order_relaxed)) return bytes;
  {
    const MutexLock lock(limited_guards_mutex);
    for (FloodGuard* guard : limited_guards) bytes = std::min(bytes, guard->Admits(fd));
    if (bytes > 0) return bytes;
  }
  // Other connections of the same thread want to be read, too: it sleeps once for all that may not.
  static thread_local TimeMs slept_at = 0;
  const SystemClock clock;
  if (clock.NowMs() - slept_at >= kPauseMs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs));
    slept_at = clock.NowMs();
  }
  return 0;
}

void FloodGuard::NoteLocalListener() { has_local_listeners = true; }

void FloodGuard::OnRead(int fd, uint64_t bytes) {
  if (has_local_listeners.load(std::memory_order_relaxed)) CountIfLocal(fd, bytes);
  if (!is_any_limited.load(std::memory_order_relaxed)) return;
  const MutexLock lock(limited_guards_mutex);
  for (FloodGuard* guard : limited_guards) guard->Count(bytes);
}

void FloodGuard::Count(uint64_t bytes) {
  const MutexLock lock(mutex_);
  unread_bytes_ += static_cast<int64_t>(bytes);
  not_looked_bytes_ += bytes;
  last_reads_.Add(bytes, kBufferBytes, kLastReadBytes);
}

bool FloodGuard::IsFull() {
  {
    const MutexLock lock(mutex_);
    if (!is_full_ && not_looked_bytes_ < kReadBytes) return false;
    not_looked_bytes_ = 0;
  }
  const uint64_t resident = ResidentBytes();
  const MutexLock lock(mutex_);
  const auto unread = static_cast<uint64_t>(std::max<int64_t>(0, unread_bytes_));
  const bool has_found = found_.bytes >= std::min(kReadBytes, process_bytes_ / kSparedPart);
  const uint64_t memory = in_hand_bytes_ + MemoryOf(unread, has_found ? found_ : last_);
  const bool was_full = std::exchange(
      is_full_, unread_bytes_ > 0 && IsNear(resident) && memory > MaxUnread(resident, memory));
  if (is_full_ && (!was_full || unread_bytes_ < least_unread_)) {
    least_unread_ = unread_bytes_;
    least_at_ = clock_.NowMs();
  }
  return is_full_;
}

bool FloodGuard::HasWaitedInVain() {
  const TimeMs now = clock_.NowMs();
  const MutexLock lock(mutex_);
  if (!is_full_ || now - least_at_ < kInVainMs) return false;
  least_at_ = now;
  return true;
}

size_t FloodGuard::Admits(int fd) {
  if (!IsFull()) return kReadBytes;
  const std::optional<uint64_t> came = BytesTaken(fd);
  const SocketId id = came ? IdOfSocket(fd) : 0;
  if (id == 0) return kReadBytes;  // It has ended, which libzmq finds out by reading.
  const MutexLock lock(mutex_);
  const auto taken = taken_.find(id);
  const uint64_t end = spared_bytes_ + (taken == taken_.end() ? 0 : taken->second.bytes);
  return end - std::min(end, *came);
}

// ---- Who has sent too much ----------------------------------------------------------------------

uint64_t FloodGuard::MaxUnread(uint64_t resident, uint64_t unread) const {
  const uint64_t least = process_bytes_ / kMinPart;
  const uint64_t others = resident - std::min(resident, unread) + least;
  return std::clamp(process_bytes_ - std::min(process_bytes_, others), least,
                    process_bytes_ / kSoundPart);
}

void FloodGuard::SetUnread(const std::vector<Unread>& all, bool forgets_ended) {
  Last found;
  for (const Unread& one : all) {
    found.bytes += one.bytes;
    found.memory_bytes += one.memory_bytes;
  }
  const auto live = static_cast<int64_t>(found.bytes);
  const TimeMs now = clock_.NowMs();
  const MutexLock lock(mutex_);
  // More was counted: of connections that have ended. What stays of it will never be taken.
  if (unread_bytes_ - live <= static_cast<int64_t>(kNothingBytes)) ended_at_ = now;
  if (forgets_ended || unread_bytes_ < live || now - ended_at_ > kEndedMs) {
    unread_bytes_ = live;
    ended_at_ = now;
  }
  found_ = found;
  if (forgets_ended) {
    // It was full by an estimate that found nobody to hang up on: what was found counts from now.
    last_ = {};
    last_.Add(found.bytes, found.memory_bytes, kLastBytes);
  }
  const uint64_t each = process_bytes_ / kSparedPart / std::max<size_t>(1, all.size());
  spared_bytes_ = std::clamp(each, kMinSpared, kMaxSpared);
}

std::vector<FloodGuard::Unread> FloodGuard::FindUnread() {
  std::vector<Unread> all;
  std::map<SocketId, Taken> open;
  const bool forgives = clock_.NowMs() - forgave_at_ > kForgiveMs;
  if (forgives) forgave_at_ = clock_.NowMs();
  for (const int fd : OpenDescriptors()) {
    const std::optional<uint64_t> came = BytesTaken(fd);
    const SocketId id = came ? IdOfSocket(fd) : 0;
    if (id == 0) continue;
    const MutexLock lock(mutex_);
    Taken& taken = taken_[id];
    const uint64_t unread = *came - std::min(taken.bytes, *came);
    if (forgives && unread < kNothingBytes) {
      taken.bytes = *came;
    } else {
      all.push_back(
          {.fd = fd, .id = id, .bytes = unread, .memory_bytes = MemoryOf(unread, taken.last)});
    }
    open[id] = taken;
  }
  {
    // What a connection sent may be taken after its end; then it is not looked for again.
    const MutexLock lock(mutex_);
    std::erase_if(taken_, [&](const auto& entry) { return !open.contains(entry.first); });
  }
  {
    const MutexLock lock(local_bytes_mutex);
    std::erase_if(local_bytes, [&](const auto& entry) { return !open.contains(entry.first); });
  }
  std::ranges::sort(all, std::greater(), &Unread::memory_bytes);
  return all;
}

void FloodGuard::HangUp(const Unread& one) {
  {
    const MutexLock lock(mutex_);
    if (IdOfSocket(one.fd) != one.id) return;  // It has ended by itself.
    hung_up_[one.fd] = one.id;
  }
  shutdown(one.fd, SHUT_RDWR);
  // libzmq would still read what the kernel has of it, some megabytes.
  while (recvfrom(one.fd, nullptr, kDiscardBytes, MSG_TRUNC | MSG_DONTWAIT, nullptr, nullptr) > 0) {
  }
}

void FloodGuard::Look(uint64_t resident, bool in_vain) {
  std::vector<Unread> all = FindUnread();
  uint64_t together = 0;
  for (const Unread& one : all) together += one.memory_bytes;
  const bool is_near = IsNear(resident);
  // Less than may be, as a thread waited for long, and is not to do so again soon.
  const uint64_t may_be = in_vain ? MaxUnread(resident, together) / 2
                                  : process_bytes_ / kSoundPart + process_bytes_ / kMinPart;
  size_t hung_up = 0;
  for (const Unread& one : all) {
    const bool is_sound = one.memory_bytes <= (is_near ? kSoundBytes : kMaxBytes);
    if (is_sound && (!is_near || together <= may_be)) break;
    LOG_EVERY_T(WARNING, kFloodLogSeconds) << fmt::format(
        "hangs up on peers that send more than is read: {} MiB wait, {} MiB of one, and the "
        "process takes {} MiB",
        together >> 20, one.bytes >> 20, resident >> 20);
    HangUp(one);
    ++hung_up;
    together -= one.memory_bytes;
    trims_until_ = clock_.NowMs() + kTrimForMs;
  }
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(hung_up));
  SetUnread(all, /*forgets_ended=*/in_vain);
}

}  // namespace rowhouse

// libzmq reads by it, without waiting.
extern "C" ssize_t recv(int fd, void* to, size_t bytes, int flags) {
  const size_t may = rowhouse::FloodGuard::MayRead(fd, bytes);
  if (may == 0 && bytes > 0) {
    errno = EAGAIN;
    return -1;
  }
  const ssize_t read = recvfrom(fd, to, may, flags, nullptr, nullptr);
  if (read > 0) rowhouse::FloodGuard::OnRead(fd, static_cast<uint64_t>(read));
  return read;
}
