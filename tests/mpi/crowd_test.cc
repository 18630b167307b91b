// A crowd of connections beside a run: nobody of it has a key, and it says nothing.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using testing::HasSubstr;

constexpr size_t kCrowd = 20'000;  // or what this process may open
// Of the run beside the crowd, more than it takes alone: connections that it opens at its end, to
// say BYE, wait at the door with all others.
constexpr double kMoreSeconds = 60;

// That a process listens on, by /proc.
std::vector<uint16_t> ListeningPorts(pid_t pid) {
  std::set<std::string> sockets;
  const std::string process = fmt::format("/proc/{}", pid);
  for (const auto& entry : std::filesystem::directory_iterator(process + "/fd")) {
    std::error_code closed;
    const std::string link = std::filesystem::read_symlink(entry.path(), closed);
    if (link.starts_with("socket:[")) sockets.insert(link.substr(8, link.size() - 9));
  }
  std::vector<uint16_t> ports;
  std::ifstream table(process + "/net/tcp");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::vector<std::string> all;
    for (std::string field; fields >> field;) all.push_back(field);
    constexpr const char* kListens = "0A";
    if (all.size() < 10 || all[3] != kListens || !sockets.contains(all[9])) continue;
    ports.push_back(
        static_cast<uint16_t>(std::stoul(all[1].substr(all[1].find(':') + 1), nullptr, 16)));
  }
  return ports;
}

// Connections that are begun, and held, open or not.
class CrowdAt {
 public:
  explicit CrowdAt(const std::vector<uint16_t>& ports) {
    rlimit limit = {};
    PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlimit before = limit;
    limit.rlim_cur = limit.rlim_max;
    PCHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    constexpr size_t kOthers = 500;
    const size_t most = std::min<size_t>(kCrowd, limit.rlim_max - kOthers);
    for (size_t i = 0; i < most; ++i) fds_.push_back(Begin(ports[i % ports.size()], i));
    PCHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
  }
  ~CrowdAt() {
    for (const int fd : fds_) close(fd);
  }

 private:
  static int Begin(uint16_t port, size_t number) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    PCHECK(fd >= 0);
    // From several hosts, or there are too few ports for them.
    constexpr size_t kOfOneHost = 1000;
    sockaddr_in own = {}, there = {};
    own.sin_family = there.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<uint32_t>(1 + number / kOfOneHost));
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    there.sin_port = htons(port);
    PCHECK(bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof(own)) == 0);
    PCHECK(connect(fd, reinterpret_cast<sockaddr*>(&there), sizeof(there)) == 0 ||
           errno == EINPROGRESS);
    return fd;
  }

  std::vector<int> fds_;
};

std::string RowsDigestOf(const ProcessResult& result) {
  const size_t at = result.out.find("rows digest: ");
  return at == std::string::npos ? result.Describe() : result.out.substr(at, 13 + 32);
}

TEST(Crowd, DoesNotEndOrStallARun) {
  const TempDir dir;
  const std::string key = "--key_file=" + (dir / "key");
  Process node(Command{.arguments = {ROWHOUSE_BINARY, "ps", "--listen=tcp://127.0.0.1:0", key,
                                     "--store=memory", "--memory_limit_mb=128", "--cache_mb=8"},
                       .time_limit = std::chrono::minutes(4)});
  ASSERT_TRUE(node.WaitForOutput("\n")) << node.Wait().Describe();
  const std::string said = node.Output();
  const size_t at = said.find("tcp://");
  const std::string endpoint = said.substr(at, said.find_first_of("; \n", at) - at);
  const Command train{.arguments = {ROWHOUSE_BINARY, "train", key, "--ps_endpoints=" + endpoint,
                                    "--arch_embedding_size=1000-1000", "--data_size=400000",
                                    "--mini_batch_size=128", "--print_freq=100"},
                      .directory = dir.path(),
                      .time_limit = std::chrono::minutes(3)};
  const ProcessResult alone = RunCommand(train);
  ASSERT_EQ(alone.exit_code, 0) << alone.Describe();

  Process run(train);
  ASSERT_TRUE(run.WaitForOutput("training it")) << run.Wait().Describe();
  const CrowdAt crowd(ListeningPorts(node.pid()));
  const ProcessResult beside = run.Wait();
  EXPECT_EQ(beside.exit_code, 0) << beside.Describe();
  EXPECT_EQ(RowsDigestOf(beside), RowsDigestOf(alone));
  EXPECT_LT(beside.seconds, 3 * alone.seconds + kMoreSeconds);
}

}  // namespace
}  // namespace rowhouse
