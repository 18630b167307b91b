// LockedByAnotherProcess: a file that a child process has locked, as RocksDB locks its LOCK.
#pragma once

#include <fcntl.h>
#include <glog/logging.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace rowhouse {

class LockedByAnotherProcess {
 public:
  // A lock of another open file description would be ours still: fcntl locks belong to processes.
  explicit LockedByAnotherProcess(const std::string& path) {
    int ready[2];
    PCHECK(pipe(ready) == 0 && pipe(done_) == 0);
    child_ = fork();
    if (child_ == 0) {
      const int fd = open(path.c_str(), O_RDWR);
      struct flock lock = {};
      lock.l_type = F_WRLCK;
      char byte = fcntl(fd, F_SETLK, &lock) == 0 ? 'y' : 'n';
      (void)!write(ready[1], &byte, 1);
      close(done_[1]);
      (void)!read(done_[0], &byte, 1);
      _exit(0);
    }
    char locked = '?';
    PCHECK(read(ready[0], &locked, 1) == 1);
    CHECK_EQ(locked, 'y') << path;
    for (const int fd : ready) close(fd);
  }
  ~LockedByAnotherProcess() {
    close(done_[1]);
    waitpid(child_, nullptr, 0);
    close(done_[0]);
  }
  LockedByAnotherProcess(const LockedByAnotherProcess&) = delete;
  LockedByAnotherProcess& operator=(const LockedByAnotherProcess&) = delete;

 private:
  int done_[2];
  pid_t child_ = -1;
};

}  // namespace rowhouse
