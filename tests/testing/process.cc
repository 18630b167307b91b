#include "tests/testing/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

extern char** environ;

namespace rowhouse {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(5);

std::vector<std::string> SplitAtZeros(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, '\0');) parts.push_back(part);
  return parts;
}

std::vector<char*> PointersTo(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Commands find no settings of a person in their home, and leave nothing there: its keys, say.
const std::string& HomeOfCommands() {
  static const TempDir home;
  static const std::string path = home.path();
  return path;
}

std::vector<std::string> EnvironmentWith(std::map<std::string, std::string> changes) {
  changes.try_emplace("HOME", HomeOfCommands());
  // Looking for networks, for which Open MPI has other layers, takes 0.2 s of every start.
  changes.try_emplace("OMPI_MCA_pml", "ob1");
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const std::string name = text.substr(0, text.find('='));
    // Of tests, not of what an operator starts: the program sets it by itself.
    if (name != "OMP_WAIT_POLICY" && !changes.contains(name)) entries.push_back(text);
  }
  for (const auto& [name, value] : changes) entries.push_back(name + "=" + value);
  return entries;
}

// -1 where the process is gone.
pid_t ParentOf(pid_t pid) {
  const std::string stat = FileText("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');  // The name may hold spaces and parentheses.
  if (name_end == std::string::npos) return -1;
  char state = 0;
  pid_t parent = -1;
  std::istringstream(stat.substr(name_end + 1)) >> state >> parent;
  return parent;
}

int RankOf(pid_t pid) {
  static const std::string kRank = "OMPI_COMM_WORLD_RANK=";
  for (const std::string& entry :
       SplitAtZeros(FileText("/proc/" + std::to_string(pid) + "/environ"))) {
    if (entry.starts_with(kRank)) return std::stoi(entry.substr(kRank.size()));
  }
  return -1;
}

std::multimap<pid_t, pid_t> ChildrenByParent() {
  std::multimap<pid_t, pid_t> children;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    children.emplace(ParentOf(pid), pid);
  }
  return children;
}

}  // namespace

std::string ProcessResult::Describe() const {
  return fmt::format("exit code {}, signal {}{}, {:.1f} s\n-- stdout --\n{}-- stderr --\n{}--\n",
                     exit_code, signal, timed_out ? ", killed at its time limit" : "", seconds, out,
                     err);
}

Process::Process(Command command)
    : command_(std::move(command)), start_(std::chrono::steady_clock::now()) {
  CHECK(!command_.arguments.empty());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Files, because a pipe that nobody reads while it fills would stop the command.
  const int create = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, (output_ / "out").c_str(), create,
                                   0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (output_ / "err").c_str(), create,
                                   0600);
  if (!command_.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, command_.directory.c_str());
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // Ctrl-C is the test's.
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> arguments = command_.arguments;
  std::vector<std::string> environment = EnvironmentWith(command_.environment);
  const int error = posix_spawnp(&pid_, arguments[0].c_str(), &actions, &attributes,
                                 PointersTo(arguments).data(), PointersTo(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    std::ofstream(output_ / "err") << arguments[0] << ": " << std::strerror(error) << "\n";
    pid_ = -1;
    has_ended_ = true;
    wait_status_ = 127 << 8;
  }
}

Process::~Process() {
  if (!has_ended_) KillAll();
}

void Process::Signal(int signal) const {
  if (!has_ended_) kill(pid_, signal);
}

std::vector<Process::Descendant> Process::Descendants() const {
  const std::multimap<pid_t, pid_t> children = ChildrenByParent();
  std::vector<pid_t> pids = {pid_};
  for (size_t i = 0; i < pids.size(); ++i) {
    const auto [begin, end] = children.equal_range(pids[i]);
    for (auto child = begin; child != end; ++child) pids.push_back(child->second);
  }
  std::vector<Descendant> descendants;
  for (const pid_t pid : pids) {
    if (pid == pid_) continue;
    descendants.push_back(
        {.pid = pid,
         .parent = ParentOf(pid),
         .rank = RankOf(pid),
         .arguments = SplitAtZeros(FileText("/proc/" + std::to_string(pid) + "/cmdline"))});
  }
  return descendants;
}

bool Process::Reap() {
  if (!has_ended_) has_ended_ = waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return has_ended_;
}

bool Process::IsOverdue() const {
  return std::chrono::steady_clock::now() - start_ >= command_.time_limit;
}

void Process::KillAll() {
  // Listed before anything dies: an orphan has another parent.
  const std::vector<Descendant> descendants = Descendants();
  kill(-pid_, SIGKILL);
  for (const Descendant& descendant : descendants) kill(descendant.pid, SIGKILL);
  waitpid(pid_, &wait_status_, 0);
  has_ended_ = true;
}

std::string Process::Output() const { return FileText(output_ / "out"); }

bool Process::WaitForOutput(const std::string& text, size_t times) {
  for (;;) {
    const bool is_last_look = Reap() || IsOverdue();
    for (const char* stream : {"out", "err"}) {
      const std::string output = FileText(output_ / stream);
      size_t found = 0;
      for (size_t at = 0; (at = output.find(text, at)) != std::string::npos; ++at) ++found;
      if (found >= times) return true;
    }
    if (is_last_look) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
}

ProcessResult Process::Wait() {
  ProcessResult result;
  while (!Reap()) {
    if (IsOverdue()) {
      KillAll();
      result.timed_out = true;
      break;
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  if (WIFEXITED(wait_status_)) result.exit_code = WEXITSTATUS(wait_status_);
  if (WIFSIGNALED(wait_status_)) result.signal = WTERMSIG(wait_status_);
  result.out = FileText(output_ / "out");
  result.err = FileText(output_ / "err");
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return result;
}

ProcessResult RunCommand(Command command) { return Process(std::move(command)).Wait(); }

// ---- rowhouse train ---------------------------------------------------------------------------

namespace {

// The value of the last --name=value; "" where there is none.
std::string FlagValue(const std::vector<std::string>& flags, const std::string& name) {
  std::string value;
  for (const std::string& flag : flags) {
    if (flag.starts_with("--" + name + "=")) value = flag.substr(name.size() + 3);
  }
  return value;
}

std::string In(const std::string& directory, const std::string& path) {
  return (std::filesystem::path(directory) / path).string();
}

}  // namespace

uint64_t TrainResult::OverShards(const std::string& counter) const {
  uint64_t sum = 0;
  for (const nlohmann::json& shard : report.at("shards")) sum += shard.at(counter).get<uint64_t>();
  return sum;
}

Command TrainCommand(const TrainRun& run) {
  Command command{.directory = run.directory, .time_limit = run.time_limit};
  if (run.ranks > 0) {
    command.arguments = {ROWHOUSE_SOURCE_DIR "/tests/mpi/mpirun.sh", "-n",
                         std::to_string(run.ranks)};
  }
  command.arguments.insert(command.arguments.end(), {ROWHOUSE_BINARY, "train"});
  command.arguments.insert(command.arguments.end(), run.flags.begin(), run.flags.end());
  return command;
}

TrainResult Train(TrainRun run) {
  const TempDir reports;
  std::string report_path = In(run.directory, FlagValue(run.flags, "report"));
  if (FlagValue(run.flags, "report").empty()) {
    const std::string model_dir = FlagValue(run.flags, "model_dir");
    report_path =
        model_dir.empty() ? reports / "report.json" : In(run.directory, model_dir) + "/report.json";
    if (model_dir.empty()) run.flags.push_back("--report=" + report_path);
  }
  std::error_code ignored;  // A run that writes none must not leave an older one to be read.
  std::filesystem::remove(report_path, ignored);

  TrainResult result;
  static_cast<ProcessResult&>(result) = RunCommand(TrainCommand(run));
  static const std::string kIteration = "Finished training it ", kLoss = ", loss ",
                           kDigest = "rows digest: ";
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kDigest)) result.digest = line.substr(kDigest.size());
    const size_t loss = line.find(kLoss);
    if (line.starts_with(kIteration) && loss != std::string::npos) {
      result.printed_losses.push_back(std::stod(line.substr(loss + kLoss.size())));
    }
  }
  const std::string text = FileText(report_path);
  if (text.empty()) return result;
  result.report = nlohmann::json::parse(text);
  const uint64_t first_step = result.report.at("totals").at("first_step");
  for (const nlohmann::json& point : result.report.at("curve")) {
    if (point.at("step") <= first_step) continue;  // of an earlier run of the model
    result.losses.push_back(point.at("loss").get<double>());
  }
  return result;
}

}  // namespace rowhouse
