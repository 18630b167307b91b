// Real processes that stop, die or never come: every run ends within its deadline with exit code 1
// and a sentence that names rank (or worker), host and phase, and leaves no process and no file.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/durable_file.h"
#include "tests/testing/left_behind.h"
#include "tests/testing/process.h"

namespace rowhouse {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::HasSubstr;

// Short, yet longer than a loaded machine makes a healthy run wait.
constexpr uint32_t kRpcMs = 2000;
constexpr uint32_t kStopMs = 3000;
constexpr uint32_t kRendezvousMs = 20000;
// Where one never comes: long enough for those that do.
constexpr uint32_t kSoonMs = 4000;
const std::string kSoon = fmt::format("--rendezvous_deadline_ms={}", kSoonMs);
// What the product adds to --rpc_deadline_ms: a worker that waits for a shard lets the shard speak
// first, one that waits for workers lets the one that waits for a shard speak first.
constexpr uint32_t kPullMs = kRpcMs + 2000;
constexpr uint32_t kExchangeMs = kRpcMs + 5000;
// For mpirun to end a run (it waits a second before it kills) and for a loaded machine.
constexpr milliseconds kToEnd(20000);

std::string OwnHostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// Flags of a run that goes on for hours, unless `flags` say otherwise.
std::vector<std::string> FaultFlags(const std::vector<std::string>& flags = {}) {
  std::vector<std::string> all = {"--arch_embedding_size=1000-1000",
                                  "--mini_batch_size=30",
                                  "--data_size=600000000",
                                  "--print_freq=50",
                                  fmt::format("--rpc_deadline_ms={}", kRpcMs),
                                  fmt::format("--stop_deadline_ms={}", kStopMs),
                                  fmt::format("--rendezvous_deadline_ms={}", kRendezvousMs)};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

class Faults : public testing::Test {
 protected:
  // Everything a run makes for itself lies in `tmp_`, and so marks its processes.
  Command InTmp(Command command) {
    command.environment["TMPDIR"] = tmp_.path();
    return command;
  }

  Command TrainInTmp(uint32_t ranks, const std::vector<std::string>& flags) {
    return InTmp(TrainCommand({.ranks = ranks, .flags = flags}));
  }

  // Servers learn of their supervisor's end at once and have kStopMs to end.
  void ExpectNothingLeft() { EXPECT_EQ(LeftBehind(tmp_.path(), milliseconds(2 * kStopMs)), ""); }

  static pid_t PidOfRank(const Process& process, int rank) {
    for (const Process::Descendant& descendant : process.Descendants()) {
      if (descendant.rank == rank) return descendant.pid;
    }
    return -1;
  }

  // The server of a PS rank, or of a run without mpirun.
  static pid_t PidOfServer(const Process& process, pid_t supervisor) {
    for (const Process::Descendant& descendant : process.Descendants()) {
      if (descendant.parent == supervisor && descendant.arguments.size() > 1 &&
          descendant.arguments[1] == "ps") {
        return descendant.pid;
      }
    }
    return -1;
  }

  static bool WaitForTraining(Process& process) {
    return process.WaitForOutput("training it 100/");
  }

  // Does `fault` and waits for the end, which has to come within `limit`.
  template <typename Fault>
  static ProcessResult EndAfter(Process& process, milliseconds limit, const Fault& fault) {
    fault();
    const auto start = std::chrono::steady_clock::now();
    const ProcessResult result = process.Wait();
    EXPECT_LT(std::chrono::steady_clock::now() - start, limit) << result.Describe();
    EXPECT_FALSE(result.timed_out);
    return result;
  }

  const std::string host_ = OwnHostName();
  TempDir tmp_;
};

// ---- One process of a run under mpirun ----------------------------------------------------------
// Ranks 0 and 1 are PS nodes, ranks 2, 3 and 4 the workers 0, 1 and 2.

struct FaultCase {
  std::string name;
  bool is_server = false;  // of the rank; else the rank itself
  int rank = 0;
  int signal = SIGKILL;
  milliseconds limit{0};  // of the product; kToEnd comes on top
  std::string words;      // a regular expression; HOST stands for this machine
  std::string root = "";  // of the picture that comes with a deadline; likewise
};

std::ostream& operator<<(std::ostream& out, const FaultCase& fault) { return out << fault.name; }

class FaultUnderMpirun : public Faults, public testing::WithParamInterface<FaultCase> {};

TEST_P(FaultUnderMpirun, EndsTheRunWithASentence) {
  const FaultCase& fault = GetParam();
  Process process(TrainInTmp(5, FaultFlags({"--ps=2", "--shards=2"})));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const pid_t rank = PidOfRank(process, fault.rank);
  const pid_t pid = fault.is_server ? PidOfServer(process, rank) : rank;
  ASSERT_GT(pid, 0);

  const ProcessResult result =
      EndAfter(process, fault.limit + kToEnd, [&] { kill(pid, fault.signal); });
  for (std::string words : {fault.words, fault.root}) {
    for (size_t at; (at = words.find("HOST")) != std::string::npos;) words.replace(at, 4, host_);
    EXPECT_THAT(result.err, ContainsRegex(words));
  }
  // mpirun's own code for a rank that a signal ended is 128 + the signal.
  const bool is_rank_killed = !fault.is_server && fault.signal == SIGKILL;
  EXPECT_EQ(result.exit_code, is_rank_killed ? 128 + SIGKILL : 1) << result.Describe();
  ExpectNothingLeft();
}

const FaultCase kFaults[] = {
    {.name = "AWorkerIsStopped",
     .rank = 4,
     .signal = SIGSTOP,
     .limit = milliseconds(kExchangeMs),
     .words = fmt::format("step [0-9]+, (dense gradients|progress): worker 2 \\(rank 4 on HOST\\) "
                          "did not come within {} ms",
                          kExchangeMs),
     .root = "root: worker 2 \\(rank 4, pid [0-9]+ on HOST\\), which said nothing"},
    {.name = "TheWorkerThatPrintsIsStopped",
     .rank = 2,
     .signal = SIGSTOP,
     .limit = milliseconds(kExchangeMs),
     .words = "step [0-9]+, (dense gradients|progress): worker 0 \\(rank 2 on HOST\\) did not come",
     .root = "root: worker 0 \\(rank 2, pid [0-9]+ on HOST\\), which said nothing"},
    {.name = "AServerIsStopped",
     .is_server = true,
     .rank = 0,
     .signal = SIGSTOP,
     .limit = milliseconds(kPullMs),
     .words = fmt::format("worker [012]: (pull|push) of step [0-9]+ to shard [01] of PS node 0 "
                          "\\(rank 0 on HOST\\) at tcp://[^ ]+: no answer for {} ms",
                          kPullMs),
     .root =
         "root: shard (0|1|0, 1) \\(PS node 0, rank 0, pid [0-9]+ on HOST\\), which said nothing"},
    {.name = "AServerIsKilled",
     .is_server = true,
     .rank = 1,
     .words = "training: PS node 1 \\(rank 1 on HOST\\): its server \\(pid [0-9]+\\) was killed by "
              "signal 9"},
    // A rank that dies is mpirun's to report: it ends the others before they notice.
    {.name = "AWorkerIsKilled", .rank = 3, .words = "rank 3 .*on node HOST exited on signal 9"},
    {.name = "ASupervisorIsKilled", .rank = 0, .words = "rank 0 .*on node HOST exited on signal 9"},
};

INSTANTIATE_TEST_SUITE_P(Runs, FaultUnderMpirun, testing::ValuesIn(kFaults),
                         [](const auto& test) { return test.param.name; });

TEST_F(Faults, ASupervisorThatIsStoppedIsNamedWhenTheOthersPart) {
  Process process(TrainInTmp(3, FaultFlags({"--ps=1", "--data_size=30000"})));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  // Its server goes on, so the workers end their training.
  const ProcessResult result = EndAfter(process, milliseconds(20000) + kToEnd,
                                        [&] { kill(PidOfRank(process, 0), SIGSTOP); });
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr(fmt::format("parting: rank 0 on {} did not come", host_)));
  ExpectNothingLeft();
}

// ---- Ranks that never come ----------------------------------------------------------------------

// mpirun of three ranks, one of which sleeps instead of training.
Command WithARankThatNeverComes(int rank, int ranks, const std::vector<std::string>& flags) {
  const std::string script = fmt::format(
      "if [ $OMPI_COMM_WORLD_RANK = {} ]; then exec sleep 600; else exec \"$@\"; fi", rank);
  Command command{.arguments = {ROWHOUSE_SOURCE_DIR "/tests/mpi/mpirun.sh", "-n",
                                std::to_string(ranks), "sh", "-c", script, "sh", ROWHOUSE_BINARY,
                                "train"}};
  const std::vector<std::string> all = FaultFlags(flags);
  command.arguments.insert(command.arguments.end(), all.begin(), all.end());
  return command;
}

TEST_F(Faults, ARankThatNeverComesIsNamed) {
  for (const int rank : {0, 2}) {
    const ProcessResult result = RunCommand(InTmp(WithARankThatNeverComes(rank, 3, {kSoon})));
    EXPECT_EQ(result.exit_code, 1) << result.Describe();
    EXPECT_LT(result.seconds, (kSoonMs + kToEnd.count()) / 1e3);
    EXPECT_THAT(result.err, HasSubstr(fmt::format("local rank {} of 3 on {} did not come within "
                                                  "{} ms",
                                                  rank, host_, kSoonMs)));
    EXPECT_THAT(result.err, HasSubstr("start of the run"));
    ExpectNothingLeft();
  }
}

// ---- Runs without mpirun ------------------------------------------------------------------------

TEST_F(Faults, AloneAServerThatIsKilledEndsTheRunAtOnce) {
  Process process(TrainInTmp(0, FaultFlags()));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const ProcessResult result = EndAfter(
      process, milliseconds(kPullMs), [&] { kill(PidOfServer(process, process.pid()), SIGKILL); });
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, ContainsRegex("training: PS node 0 \\(rank 0 on " + host_ +
                                        "\\): its server \\(pid [0-9]+\\) was killed by signal 9"));
  ExpectNothingLeft();
}

TEST_F(Faults, AloneAServerThatIsStoppedEndsTheRunAtTheDeadline) {
  Process process(TrainInTmp(0, FaultFlags()));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const ProcessResult result = EndAfter(process, milliseconds(kPullMs) + kToEnd, [&] {
    kill(PidOfServer(process, process.pid()), SIGSTOP);
  });
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err,
              ContainsRegex("worker 0: (pull|push) of step [0-9]+ to shard 0 of PS node "
                            "0 \\(rank 0 on " +
                            host_ + "\\)"));
  ExpectNothingLeft();
}

TEST_F(Faults, AloneAServerWhoseWorkerIsKilledEndsByItself) {
  Process process(TrainInTmp(0, FaultFlags()));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  process.Signal(SIGKILL);
  EXPECT_EQ(process.Wait().signal, SIGKILL);
  ExpectNothingLeft();
}

// ---- Ctrl-C -------------------------------------------------------------------------------------

TEST_F(Faults, CtrlCEndsARunInOrder) {
  Process process(TrainInTmp(0, FaultFlags()));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const ProcessResult result = EndAfter(process, kToEnd, [&] { process.Signal(SIGINT); });
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
  EXPECT_THAT(result.out, HasSubstr("rows digest: "));
  EXPECT_EQ(result.err,
            "\nstopping after this step; a second signal ends the run at once, unsaved\n");
  ExpectNothingLeft();
}

TEST_F(Faults, CtrlCToMpirunLeavesNothingBehind) {
  Process process(TrainInTmp(5, FaultFlags({"--ps=2", "--shards=2"})));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  EndAfter(process, kToEnd, [&] { process.Signal(SIGINT); });
  ExpectNothingLeft();
}

// ---- Servers of their own -----------------------------------------------------------------------

class OwnServer : public Faults {
 protected:
  void StartServer(const std::vector<std::string>& flags = {},
                   const std::string& listen = "tcp://127.0.0.1:0") {
    Command command{.arguments = {ROWHOUSE_BINARY, "ps", "--listen=" + listen,
                                  fmt::format("--stop_deadline_ms={}", kStopMs)}};
    command.arguments.insert(command.arguments.end(), flags.begin(), flags.end());
    server_ = std::make_unique<Process>(InTmp(command));
    static const std::string kListening = "listening on ";
    ASSERT_TRUE(server_->WaitForOutput("\n")) << server_->Wait().Describe();
    const std::string line = server_->Output();
    const size_t at = line.find(kListening);
    ASSERT_NE(at, std::string::npos) << line;
    endpoint_ = line.substr(at + kListening.size());
    endpoint_ = endpoint_.substr(0, endpoint_.find_first_of(";\n"));
  }

  // One epoch of 20 steps, unless `flags` say otherwise.
  Command TrainThere(const std::vector<std::string>& flags = {}, uint32_t ranks = 0) {
    std::vector<std::string> all = {"--data_size=600", "--ps_endpoints=" + endpoint_};
    all.insert(all.end(), flags.begin(), flags.end());
    return TrainInTmp(ranks, FaultFlags(all));
  }

  // Stops the server in the middle of its part of a checkpoint.
  bool StopWhileItSaves(const std::string& rows) {
    const auto is_saving = [&] {
      std::error_code error;  // Directories come and go.
      for (std::filesystem::recursive_directory_iterator entry(rows + "/checkpoints", error), end;
           !error && entry != end; entry.increment(error)) {
        if (entry->path().extension() == ".tmp") return true;
      }
      return false;
    };
    const auto until = std::chrono::steady_clock::now() + kToEnd;
    while (std::chrono::steady_clock::now() < until) {
      if (!is_saving()) continue;
      server_->Signal(SIGSTOP);
      std::this_thread::sleep_for(milliseconds(10));
      if (is_saving()) return true;
      server_->Signal(SIGCONT);
    }
    return false;
  }

  static std::string DigestOf(const ProcessResult& result) {
    const size_t at = result.out.find("rows digest: ");
    return at == std::string::npos ? result.Describe() : result.out.substr(at, 13 + 32);
  }

  std::unique_ptr<Process> server_;
  std::string endpoint_;
};

const std::vector<std::string> kGoesOn = {"--data_size=600000000"};

TEST_F(OwnServer, ServesOneJobAfterAnother) {
  StartServer();
  const ProcessResult first = RunCommand(TrainThere());
  EXPECT_EQ(first.exit_code, 0) << first.Describe();
  const ProcessResult second = RunCommand(TrainThere());
  EXPECT_EQ(second.exit_code, 0) << second.Describe();
  EXPECT_EQ(DigestOf(second), DigestOf(first));
  const ProcessResult by_two = RunCommand(TrainThere({"--num_batches=5"}, 2));
  EXPECT_EQ(by_two.exit_code, 0) << by_two.Describe();
  server_->Signal(SIGTERM);
  const std::string said = server_->Wait().err;
  EXPECT_THAT(said,
              ContainsRegex("job [0-9a-f]+ begins: this is its PS node 0, with 1 shard of 1, for "
                            "1 worker, from step 0 on; rows in "));
  EXPECT_THAT(said, ContainsRegex("job [0-9a-f]+ ended: all of its workers have parted"));
}

TEST_F(OwnServer, ThatIsKilledIsNamedByTheWorker) {
  StartServer({"--store=memory"});
  Process process(TrainThere(kGoesOn));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const ProcessResult result =
      EndAfter(process, milliseconds(kPullMs) + kToEnd, [&] { server_->Signal(SIGKILL); });
  EXPECT_EQ(server_->Wait().signal, SIGKILL);
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err,
              ContainsRegex("worker 0: (pull|push) of step [0-9]+ to shard 0 of PS node 0 at "
                            "tcp://127.0.0.1:[0-9]+ is gone: its process has ended"));
  ExpectNothingLeft();
}

// Not after --save_deadline_ms, half an hour, which is for a node that is slow. Whoever asks the
// node next notices, of whichever step.
TEST_F(OwnServer, ThatIsKilledWhileItSavesIsNamedByTheWorker) {
  const std::string rows = tmp_ / "rows";
  StartServer({"--row_dir=" + rows});
  const std::vector<std::string> saves = {kGoesOn[0], "--save_every=1",
                                          "--model_dir=" + (tmp_ / "model")};
  Process process(TrainThere(saves, /*ranks=*/2));
  ASSERT_TRUE(StopWhileItSaves(rows)) << process.Wait().Describe();
  const ProcessResult result = EndAfter(process, kToEnd, [&] { server_->Signal(SIGKILL); });
  EXPECT_EQ(server_->Wait().signal, SIGKILL);
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err,
              ContainsRegex("worker [01]: [a-z]+ of step [0-9]+ to shard 0 of PS node 0 at "
                            "tcp://127.0.0.1:[0-9]+ is gone: its process has ended"));
}

// By whichever allocation, its own or libzmq's.
TEST_F(OwnServer, ThatRunsOutOfMemorySaysSoAndTheWorkerThatItIsGone) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers themselves need terabytes of addresses";
#endif
  StartServer({"--store=memory"});
  rlim_t pages = 0;
  std::ifstream(fmt::format("/proc/{}/statm", server_->pid())) >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(getpagesize()) + (24 << 20);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  ASSERT_EQ(prlimit(server_->pid(), RLIMIT_AS, &limit, nullptr), 0);
  const ProcessResult result = RunCommand(TrainThere());
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("PS node 0 at " + endpoint_ + " is gone: "));
  const ProcessResult server = server_->Wait();
  EXPECT_EQ(server.exit_code, 1) << server.Describe();
  EXPECT_THAT(server.err, ContainsRegex("rowhouse: (out of memory|cannot start a thread): "));
}

TEST_F(OwnServer, ThatIsNotThereIsNamedAfterTheDeadline) {
  for (const uint32_t ranks : {0u, 2u}) {
    endpoint_ = "tcp://127.0.0.1:9";  // "discard": nobody has it
    const ProcessResult result = RunCommand(TrainThere({kSoon}, ranks));
    EXPECT_EQ(result.exit_code, 1) << result.Describe();
    EXPECT_LT(result.seconds, (kSoonMs + kToEnd.count()) / 1e3);
    EXPECT_THAT(result.err, HasSubstr(fmt::format("meeting: worker 0 on {} had no answer within "
                                                  "{} ms from PS node 0 at tcp://127.0.0.1:9",
                                                  host_, kSoonMs)));
    ExpectNothingLeft();
  }
}

TEST_F(OwnServer, ThatIsNotThereIsNotWaitedForAfterCtrlC) {
  endpoint_ = "tcp://127.0.0.1:9";
  Process process(TrainThere({"-v=1"}));
  ASSERT_TRUE(process.WaitForOutput("worker 0 meets 1 PS nodes")) << process.Wait().Describe();
  const ProcessResult result = EndAfter(process, kToEnd, [&] { process.Signal(SIGINT); });
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("told to stop while it waited for an answer from PS node 0"));
}

TEST_F(OwnServer, ThatIsBusyRefusesUntilTheJobEnds) {
  StartServer();
  Process process(TrainThere(kGoesOn));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  const ProcessResult refused = RunCommand(TrainThere());
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("serves another job"));
  EXPECT_THAT(refused.err, HasSubstr(" on " + host_));
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait().exit_code, 0);
  EXPECT_EQ(RunCommand(TrainThere()).exit_code, 0);
}

TEST_F(OwnServer, OfAJobThatWasKilledIsFreeOnceItWasSilentLongEnough) {
  StartServer({fmt::format("--rpc_deadline_ms={}", kSoonMs)});
  Process process(TrainThere(kGoesOn));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  process.Signal(SIGKILL);
  process.Wait();
  const ProcessResult refused = RunCommand(TrainThere());
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err,
              HasSubstr(fmt::format("until nothing was heard of it for {} ms", kSoonMs)));

  std::this_thread::sleep_for(milliseconds(kSoonMs));
  const ProcessResult accepted = RunCommand(TrainThere());
  EXPECT_EQ(accepted.exit_code, 0) << accepted.Describe();
}

TEST_F(OwnServer, OfAMeetingThatFailedIsFreeAtOnce) {
  StartServer();
  const std::string there = endpoint_;
  endpoint_ += ",tcp://127.0.0.1:9";
  EXPECT_EQ(RunCommand(TrainThere({kSoon})).exit_code, 1);
  endpoint_ = there;
  const ProcessResult result = RunCommand(TrainThere());
  EXPECT_EQ(result.exit_code, 0) << result.Describe();
}

TEST_F(OwnServer, IsFreeWhenOneOfTwoWorkersNeverCame) {
  StartServer();
  const ProcessResult result =
      RunCommand(InTmp(WithARankThatNeverComes(1, 2, {"--ps_endpoints=" + endpoint_, kSoon})));
  EXPECT_EQ(result.exit_code, 1) << result.Describe();
  EXPECT_THAT(result.err, HasSubstr("local rank 1 of 2 on " + host_ + " did not come"));
  EXPECT_EQ(RunCommand(TrainThere()).exit_code, 0);
}

// Where no rank has a PS node, the picture is made by a worker that is at its own deadline.
TEST_F(OwnServer, AWorkerThatIsStoppedIsTheRootOfThePicture) {
  StartServer();
  Process run(TrainThere({"--data_size=6000000", "--rpc_deadline_ms=2000"}, 2));
  ASSERT_TRUE(run.WaitForOutput("training it 100/")) << run.Wait().Describe();
  pid_t stopped = 0;
  for (const Process::Descendant& one : run.Descendants()) {
    if (one.rank == 1) stopped = one.pid;
  }
  ASSERT_NE(stopped, 0);
  kill(stopped, SIGSTOP);
  EXPECT_TRUE(run.WaitForOutput("root: worker 1 (rank 1, pid "));
  kill(stopped, SIGCONT);
  EXPECT_EQ(run.Wait().exit_code, 1);
}

TEST_F(OwnServer, EndsInOrderOnSigtermAlsoInTheMiddleOfAJob) {
  StartServer();
  EXPECT_EQ(EndAfter(*server_, kToEnd, [&] { server_->Signal(SIGTERM); }).exit_code, 0);
  ExpectNothingLeft();

  StartServer();
  Process process(TrainThere(kGoesOn));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  EXPECT_EQ(EndAfter(*server_, kToEnd, [&] { server_->Signal(SIGTERM); }).exit_code, 0);
  const ProcessResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, ContainsRegex("(pull|push) of step [0-9]+ to shard 0 of PS node 0"));
  ExpectNothingLeft();
}

// ---- Keys of servers of their own
// -----------------------------------------------------------------

TEST_F(OwnServer, WithAnotherKeyTellsTheWorkerAtOnceAndGoesOn) {
  const std::string its = "--key_file=" + (tmp_ / "its-key");
  StartServer({its});
  for (const uint32_t ranks : {0u, 2u}) {
    const ProcessResult refused =
        RunCommand(TrainThere({"--key_file=" + (tmp_ / "another-key")}, ranks));
    EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
    EXPECT_LT(refused.seconds, kToEnd.count() / 1e3);
    EXPECT_THAT(refused.err, HasSubstr(endpoint_ + " refused this process's key"));
    EXPECT_THAT(refused.err, HasSubstr("--key_file"));
  }
  const ProcessResult encrypted = RunCommand(TrainThere({its, "--encrypt"}));
  EXPECT_EQ(encrypted.exit_code, 2) << encrypted.Describe();
  EXPECT_THAT(encrypted.err, HasSubstr("--encrypt"));
  EXPECT_EQ(RunCommand(TrainThere({its})).exit_code, 0);
}

TEST_F(OwnServer, ThatIsStartedAgainHasItsKeyAndLetsItsWorkersInAgain) {
  const std::string key_file = tmp_ / "key", key = "--key_file=" + key_file;
  StartServer({key, "--store=memory"});
  const std::string text = ReadFile(key_file).value();
  const ProcessResult before = RunCommand(TrainThere({key}));
  ASSERT_EQ(before.exit_code, 0) << before.Describe();

  std::vector<std::string> goes_on = kGoesOn;
  goes_on.push_back(key);
  Process process(TrainThere(goes_on));
  ASSERT_TRUE(WaitForTraining(process)) << process.Wait().Describe();
  server_->Signal(SIGKILL);
  EXPECT_EQ(server_->Wait().signal, SIGKILL);
  StartServer({key, "--store=memory"}, endpoint_);
  EXPECT_EQ(ReadFile(key_file).value(), text);
  const ProcessResult cut_off = process.Wait();
  EXPECT_EQ(cut_off.exit_code, 1) << "its rows are lost";
  EXPECT_THAT(cut_off.err, testing::Not(HasSubstr("refused this process's key")));

  const ProcessResult after = RunCommand(TrainThere({key}));
  EXPECT_EQ(after.exit_code, 0) << after.Describe();
  EXPECT_EQ(DigestOf(after), DigestOf(before));
}

TEST_F(OwnServer, WithoutAKeyDoesNotStartUnlessItIsOpen) {
  Command homeless{.arguments = {ROWHOUSE_BINARY, "ps", "--listen=tcp://127.0.0.1:0"},
                   .environment = {{"HOME", ""}}};
  const ProcessResult refused = RunCommand(InTmp(homeless));
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("no key: HOME is not set"));
  EXPECT_THAT(refused.err, HasSubstr("--open"));
  EXPECT_THAT(refused.out, testing::Not(HasSubstr("listening")));

  StartServer({"--open"});
  const ProcessResult with_key = RunCommand(TrainThere());
  EXPECT_EQ(with_key.exit_code, 2) << with_key.Describe();
  // Which of the two it is depends on who reads the other's greeting first.
  EXPECT_THAT(with_key.err, AnyOf(HasSubstr("do not agree on keys; give --open"),
                                  HasSubstr("only one of them was given --open")));
  EXPECT_EQ(RunCommand(TrainThere({"--open"})).exit_code, 0);
}

TEST_F(OwnServer, ReadsRowsForAJobWhereItsOperatorSaid) {
  const std::string model = "--model_dir=" + (tmp_ / "model");
  StartServer({"--row_dir=" + (tmp_ / "rows")});
  const ProcessResult saved = RunCommand(TrainThere({model}));
  ASSERT_EQ(saved.exit_code, 0) << saved.Describe();

  StartServer({"--row_dir=" + (tmp_ / "other")});
  const ProcessResult refused = RunCommand(TrainThere({model, "--load"}));
  EXPECT_EQ(refused.exit_code, 2) << refused.Describe();
  EXPECT_THAT(refused.err, HasSubstr("start rowhouse ps with --read_dirs=DIRECTORY"));

  StartServer({"--row_dir=" + (tmp_ / "other"), "--read_dirs=" + (tmp_ / "rows")});
  const ProcessResult loaded = RunCommand(TrainThere({model, "--load"}));
  EXPECT_EQ(loaded.exit_code, 0) << loaded.Describe();
}

}  // namespace
}  // namespace rowhouse
