#include "common/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

// One mapping that the handler knows. `end` is written last and cleared first: 0 means free.
struct Guard {
  std::atomic<bool> is_taken{false};
  std::atomic<uintptr_t> begin{0}, end{0};
  std::atomic<bool> has_shrunk{false};
};

std::array<Guard, MappedFile::kMaxGuarded> guards;
struct sigaction action_before;

// Runs on the thread that touched the page. Only calls that a handler may make: atomics, mmap.
void OnBusError(int /*signal*/, siginfo_t* info, void* /*context*/) {
  constexpr uintptr_t kPage = 4096;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Guard& guard : guards) {
    const uintptr_t end = guard.end.load(std::memory_order_acquire);
    if (end == 0 || address < guard.begin.load(std::memory_order_relaxed) || address >= end) {
      continue;
    }
    const uintptr_t from = address & ~(kPage - 1), to = (end + kPage - 1) & ~(kPage - 1);
    void* zeros = ::mmap(reinterpret_cast<void*>(from), to - from, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    guard.has_shrunk.store(true, std::memory_order_release);
    return;
  }
  ::sigaction(SIGBUS, &action_before, nullptr);  // Not ours: the access fails again, and there.
}

void InstallHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_sigaction = &OnBusError;
    action.sa_flags = SA_SIGINFO;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &action_before);
  });
}

size_t TakeGuard(std::span<const std::byte> bytes) {
  InstallHandler();
  for (size_t i = 0; i < guards.size(); ++i) {
    Guard& guard = guards[i];
    if (guard.is_taken.exchange(true)) continue;
    const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    guard.has_shrunk = false;
    guard.begin = begin;
    guard.end.store(begin + bytes.size(), std::memory_order_release);
    return i;
  }
  return guards.size();
}

void GiveBackGuard(size_t i) {
  if (i == guards.size()) return;
  guards[i].end = 0;
  guards[i].is_taken = false;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return StatusFromErrno(errno, "read", path);
  const std::shared_ptr<MappedFile> file(new MappedFile(path, fd));
  struct stat facts;
  if (::fstat(fd, &facts) != 0) return StatusFromErrno(errno, "read", path);
  if (!S_ISREG(facts.st_mode)) return UsageError("cannot map {}: it is no file", path);
  if (facts.st_size == 0) return std::shared_ptr<const MappedFile>(file);
  const auto size = static_cast<size_t>(facts.st_size);
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return StatusFromErrno(errno, "map", path);
  file->bytes_ = {static_cast<const std::byte*>(at), size};
  file->guard_ = TakeGuard(file->bytes_);
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    GiveBackGuard(guard_);
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  ::close(fd_);
}

Status MappedFile::CheckWhole() const {
  struct stat facts;
  if (::fstat(fd_, &facts) != 0) return StatusFromErrno(errno, "read", path_);
  const bool has_shrunk = guard_ < guards.size() && guards[guard_].has_shrunk;
  const auto size = static_cast<size_t>(facts.st_size);
  if (size >= bytes_.size() && !has_shrunk) return OkStatus();
  return IoError("{} became shorter while it was read: from {} to {} bytes", path_, bytes_.size(),
                 size);
}

void MappedFile::WillNeed(size_t offset, size_t bytes) const {
  CHECK(offset <= bytes_.size() && bytes <= bytes_.size() - offset);
  const size_t page = offset & ~size_t{4095};
  // Advice only: if it is not taken, reading is slower.
  ::madvise(const_cast<std::byte*>(bytes_.data()) + page, bytes + (offset - page), MADV_WILLNEED);
}

}  // namespace rowhouse
