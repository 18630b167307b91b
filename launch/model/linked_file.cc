#include "launch/model/linked_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "common/durable_file.h"

namespace rowhouse {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

// An open file; -1: none.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

// Calls use(data, size) for the bytes of the file, in order.
template <typename Use>
Status ForEachPiece(const std::string& path, const Use& use) {
  const Descriptor file(path);
  if (file.get() < 0) return StatusFromErrno(errno, "open", path);
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t got = read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return StatusFromErrno(errno, "read", path);
    if (got == 0) return OkStatus();
    RETURN_IF_ERROR(use(piece.data(), static_cast<size_t>(got)));
  }
}

}  // namespace

Result<FileSum> SumUpFile(const std::string& path) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  FileSum sum;
  RETURN_IF_ERROR(ForEachPiece(path, [&](const char* data, size_t size) {
    XXH3_64bits_update(state.get(), data, size);
    sum.bytes += size;
    return OkStatus();
  }));
  sum.checksum = fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
  return sum;
}

}  // namespace rowhouse
