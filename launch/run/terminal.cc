#include "launch/run/terminal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "launch/hosts/cluster.h"

namespace rowhouse {

bool IsWatchedOnTerminal() {
  if (isatty(STDOUT_FILENO) == 0) return false;
  if (!Cluster::IsUnderMpirun()) return true;
  const int fd = open(fmt::format("/proc/{}/fd/1", getppid()).c_str(),
                      O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  const bool is_terminal = isatty(fd) != 0;
  close(fd);
  return is_terminal;
}

}  // namespace rowhouse
