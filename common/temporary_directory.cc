#include "common/temporary_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "/rowhouse-temporary";

// Machines may share the place, and not each other's locks.
std::string MarkText() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return fmt::format("a temporary directory of rowhouse on {}\n", host);
}

// The mark goes last: without it nobody would remove the rest.
void Remove(const std::string& path) {
  std::error_code ignored;
  for (fs::directory_iterator at(path, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    std::error_code unremoved;
    if (at->path() != path + kMark) fs::remove_all(at->path(), unremoved);
  }
  fs::remove_all(path, ignored);
}

bool HasOurMark(int mark) {
  struct stat facts = {};
  if (fstat(mark, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid()) {
    return false;
  }
  const std::string expected = MarkText();
  std::string text(expected.size() + 1, '\0');
  const ssize_t got = pread(mark, text.data(), text.size(), 0);
  return got == static_cast<ssize_t>(expected.size()) && text.starts_with(expected);
}

Status CannotMake(const std::string& path, int error) {
  return UsageError("cannot make a directory at {}: {}", path, std::strerror(error));
}

}  // namespace

std::string TemporaryDirectory::Place() {
  const char* directory = std::getenv("TMPDIR");
  return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
}

Result<std::unique_ptr<TemporaryDirectory>> TemporaryDirectory::Make(const std::string& name) {
  std::string path = Place() + "/" + name + "-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return CannotMake(path, errno);
  const std::string mark = path + kMark;
  // It is locked before it has its text, so that nobody takes it for one that was left.
  const int lock = open(mark.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  const std::string text = MarkText();
  if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 ||
      write(lock, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    const int error = errno == 0 ? ENOSPC : errno;
    if (lock >= 0) close(lock);
    unlink(mark.c_str());
    rmdir(path.c_str());
    return CannotMake(path, error);
  }
  return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(std::move(path), lock));
}

TemporaryDirectory::~TemporaryDirectory() {
  Remove(path_);
  close(lock_);
}

void TemporaryDirectory::RemoveLeftOver(const std::string& name) {
  std::error_code ignored;
  for (fs::directory_iterator at(Place(), ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string path = at->path().string();
    struct stat facts = {};
    if (!at->path().filename().string().starts_with(name + "-") ||
        lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) {
      continue;
    }
    const int mark = open((path + kMark).c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (mark < 0) continue;
    if (HasOurMark(mark) && flock(mark, LOCK_EX | LOCK_NB) == 0) Remove(path);
    close(mark);
  }
}

}  // namespace rowhouse
