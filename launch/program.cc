#include "launch/program.h"

#include <fmt/ranges.h>
#include <glog/logging.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "common/clean_text.h"
#include "common/kill_point.h"
#include "launch/command_line/command_line.h"
#include "launch/command_line/help.h"
#include "launch/command_line/made_settings.h"
#include "launch/command_line/output_flags.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/command_line/version.h"
#include "launch/data/data_verb.h"
#include "launch/hosts/process_end.h"
#include "launch/model/ckpt.h"
#include "launch/plan/lab_page.h"
#include "launch/plan/load_balance.h"
#include "launch/plan/plan.h"
#include "launch/prediction/lab_run.h"
#include "launch/report/comparison.h"
#include "launch/reshard/reshard.h"
#include "launch/run/ps_server.h"
#include "launch/run/train.h"
#include "launch/score/score.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/strategy_settings.h"

namespace rowhouse {
namespace {

// Under mpirun all ranks of a host find the same mistake before they meet: one of them says it.
bool SpeaksForItsHost() {
  const char* local_rank = std::getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  return local_rank == nullptr || std::string_view(local_rank) == "0";
}

int ExitBeforeMeeting(const Status& status) {
  if (SpeaksForItsHost()) {
    std::fprintf(stderr, "rowhouse: %s\n", CleanLines(status.message()).c_str());
  } else {
    // mpirun kills all ranks once one has ended: leave the speaker the time to be heard.
    poll(nullptr, 0, 1000);
  }
  return status.exit_code();
}

// Whether --config or a flag of the model was given. Otherwise the model is DLRM's toy.
bool IsModelGiven(const CommandLine& command_line) {
  return std::ranges::any_of(command_line.flags, [](const GivenFlag& flag) {
    const SettingField* field = FindSettingField(flag.name);
    return flag.name == kConfigFlag || (field != nullptr && field->section == Section::kModel);
  });
}

// Notices before a run, one line each: DLRM's flags that have no effect here, DLRM's toy model
// because no model was given, evaluations without test samples. `settings`: the effective ones.
std::vector<std::string> NoticesOf(const CommandLine& command_line, const Settings& settings) {
  std::vector<std::string> notices;
  if (!IsModelGiven(command_line) && settings.data.file.empty()) {
    std::vector<uint64_t> rows;
    for (const LogicalTable& table : settings.tables) rows.push_back(table.rows);
    notices.push_back(
        fmt::format("no model was given, so this trains DLRM's toy: {} tables of {} rows, {} data. "
                    "For a model of your own say --config=FILE (configs/quickstart.yaml is one), "
                    "or give its shape by flags (rowhouse train --help, section model)",
                    rows.size(), fmt::join(rows, ", "), settings.data_generation));
  }
  if (!command_line.ignored.empty()) {
    notices.push_back(fmt::format("ignored, because in Rowhouse they change no result: {}",
                                  fmt::join(command_line.ignored, ", ")));
  }
  if (settings.are_tables_counted) {
    notices.push_back(fmt::format(
        "no table sizes were given: tables have a row for each token of their column of {}{}",
        settings.data.file,
        FlagText(settings.data, "id_mapping") == "dictionary"
            ? ""
            : "; --id_mapping=dictionary keeps tokens apart, as DLRM does"));
  }
  if (settings.training.test_freq > 0) {
    const std::string why =
        DeclarationOfDataset(settings.data_source()).why_untested(settings.data);
    if (!why.empty()) {
      notices.push_back(
          fmt::format("--test_freq={} tests nothing: {}", settings.training.test_freq, why));
    }
  }
  return notices;
}

// Once for all ranks, and to stdout: stderr is for what went wrong.
void PrintNotices(const CommandLine& command_line, const Settings& settings) {
  const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank != nullptr && std::string_view(rank) != "0") return;
  for (const std::string& notice : NoticesOf(command_line, settings)) {
    std::printf("note: %s\n", CleanLines(notice).c_str());
  }
  std::fflush(stdout);
}

int Print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int PrintCompletion(const CommandLine& command_line) {
  if (command_line.arguments == std::vector<std::string>{"bash"}) return Print(BashCompletion());
  return ExitBeforeMeeting(UsageError("expected: rowhouse completion bash"));
}

bool WantsCounts(const CommandLine& command_line) {
  return command_line.Value(kCountIdsFlag) == "true";
}

// Whether the settings' data have to be there.
bool ReadsData(const CommandLine& command_line) {
  if (command_line.verb != "plan")
    return command_line.verb != "ckpt" && command_line.verb != "data";
  const Result<const PlanMode*> mode = PlanModeOf(command_line);  // RunVerb refuses two
  return WantsCounts(command_line) ||
         (mode.ok() && mode.value() != nullptr && mode.value()->reads_data);
}

Result<PlanRequest> ReadPlanRequest(const CommandLine& command_line, const Settings& settings) {
  PlanRequest request = {.wants_sizes = command_line.Value(kSizesFlag) == "true",
                         .wants_counts = WantsCounts(command_line),
                         .has_model = IsModelGiven(command_line),
                         .json = command_line.Value(kJsonFlag),
                         .memory_mb = command_line.Value(kMemoryMbFlag),
                         .touched_rows = command_line.Value(kTouchedRowsFlag),
                         .measured = command_line.Value(kMeasuredFlag),
                         .has_strategy = !command_line.Value("strategy").empty(),
                         .out = command_line.Value(kOutFlag)};
  ASSIGN_OR_RETURN(request.max_samples, MaxSamplesOf(command_line));
  request.wants_plan = request.has_strategy || !request.measured.empty() ||
                       !command_line.Value("plan").empty() ||
                       (!request.out.empty() && !request.wants_counts);
  if (AsksForPlanner(settings.sharding.plan)) {
    RETURN_IF_ERROR(CheckNoLabPage(command_line));
    // --max_samples is of --trace, then.
    if (!command_line.Value(kTraceFlag).empty()) request.max_samples = 0;
    ASSIGN_OR_RETURN(request.lab, LabRunOf(command_line, settings));
  }
  ASSIGN_OR_RETURN(request.load_balance, ReadLoadBalanceFlags(command_line));
  return request;
}

std::map<std::string, VerbRun>& VerbRuns() {
  static std::map<std::string, VerbRun> runs;
  return runs;
}

// Whether this is the program that has all verbs.
bool IsLab() { return !VerbRuns().empty(); }

// Goes on as rowhouse-lab, which lies beside this program. Returns if it is not there.
void BecomeLab(char** argv) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execv((program.parent_path() / kLabProgram).c_str(), argv);
}

// What is to be said where rowhouse-lab is not there.
std::string LabIsMissing() {
  return fmt::format(
      "needs {0}, which is not there: cmake --build --preset release --target {0} makes it",
      kLabProgram);
}

ReshardRequest ReshardRequestOf(const CommandLine& command_line, const Settings& settings) {
  ReshardRequest request = {.out = command_line.Value(kOutFlag),
                            .json = command_line.Value(kJsonFlag)};
  if (command_line.Given("ps") != nullptr) request.ps = settings.cluster.ps;
  if (command_line.Given("shards") != nullptr) request.shards = settings.cluster.shards;
  if (command_line.Given("strategy") != nullptr) request.strategy = settings.sharding.strategy;
  if (command_line.Given("plan") != nullptr) request.plan = settings.sharding.plan;
  return request;
}

Status RunVerb(const CommandLine& command_line, const Settings& settings) {
  RETURN_IF_ERROR(CheckOutputFlags(command_line));
  if (command_line.verb == "ps") return RunPs(settings);
  if (command_line.verb == "ckpt" &&
      command_line.arguments == std::vector<std::string>{"reshard"}) {
    return Reshard(settings, ReshardRequestOf(command_line, settings));
  }
  if (command_line.verb == "ckpt") {
    return RunCkpt(settings, command_line.arguments,
                   {.compression = command_line.Value("store_compression"),
                    .json = command_line.Value(kJsonFlag),
                    .out = command_line.Value(kOutFlag),
                    .format = command_line.Value(kFormatFlag, "npy"),
                    .is_stored = command_line.Value(kStoredFlag) == "true",
                    .untrained = command_line.Value(kUntrainedFlag, "initial"),
                    .step = command_line.Value(kStepFlag),
                    .row_bits = command_line.Value(kQuantizeRowsFlag)});
  }
  if (command_line.verb == "compare") {
    return RunCompare(command_line.arguments, command_line.Value(kOutFlag),
                      command_line.Value(kCsvFlag), command_line.Value(kStrategiesFlag) == "true",
                      command_line.Value(kJsonFlag));
  }
  if (command_line.verb == "plan") {
    ASSIGN_OR_RETURN(const PlanMode* const mode, PlanModeOf(command_line));
    // A mode that may be an option of others (--trace) is one of the planner's, too.
    const bool is_option =
        mode != nullptr && mode->precedence < 0 && AsksForPlanner(settings.sharding.plan);
    if (mode != nullptr && !is_option) return mode->run(command_line, settings);
    ASSIGN_OR_RETURN(const PlanRequest request, ReadPlanRequest(command_line, settings));
    return RunPlan(settings, request);
  }
  if (command_line.verb == "data") return RunDataVerb(command_line, settings);
  if (command_line.verb == "predict") return RunPredict(command_line, settings);
  if (command_line.verb == "eval") return RunEval(command_line, settings);
  return VerbRuns().at(command_line.verb)(command_line, settings);
}

// To stderr unless --log_dir or --logtostderr=false says otherwise: no one looks for logs in /tmp.
Status StartLogging(const CommandLine& command_line, int argc, char** argv) {
  const std::string directory = command_line.Value("log_dir");
  if (!directory.empty()) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error || access(directory.c_str(), W_OK) != 0) {
      return UsageError("--log_dir={}: log files cannot be made there: {}", directory,
                        error ? error.message() : "it cannot be written to");
    }
    if (command_line.Value("logtostderr").empty()) FLAGS_logtostderr = false;
  }
  google::InitGoogleLogging(argv[0]);
  // glog makes a file with its first message. A run without trouble has no other.
  const std::string version = VersionText();
  LOG_IF(INFO, !directory.empty())
      << version.substr(0, version.find('\n')) << ": "
      << fmt::format("{}", fmt::join(std::span(argv, static_cast<size_t>(argc)), " "));
  return OkStatus();
}

// libzmq mallocs every frame it receives. By default glibc maps blocks of this size again each time
// and gives them back at once, which costs a page fault for every 4 kB of rows.
void KeepLargeBlocks() {
  constexpr int kLargestMmapThreshold = 32 << 20;  // glibc takes no more
  mallopt(M_MMAP_THRESHOLD, kLargestMmapThreshold);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  // Frames are freed on another thread than the one that received them. One arena keeps what is
  // freed; an arena a thread gives emptied heaps back, and they fault in again.
  mallopt(M_ARENA_MAX, 1);
}

// OpenMP's threads wait for each other by spinning, for milliseconds. Where other work wants the
// same cores, they keep it and each other from running: a step takes ten times as long. libgomp
// reads how to wait when it is loaded, before main: so the program starts again with the variable.
void LetThreadsSleep(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  std::error_code error;
  // Not "/proc/self/exe" itself, which the process would be called by.
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  execv(program.c_str(), argv);  // Where that fails, threads spin.
}

// The command line; of one that only rowhouse-lab has an answer to, that program's answer.
Result<CommandLine> CommandLineOrLab(int argc, char** argv) {
  Result<CommandLine> command_line = ParseCommandLine(argc, argv);
  if (IsLab()) return command_line;
  // Flags are declared where they are read: of plan and bench the lab knows more than this program.
  const Verb* const verb =
      command_line.ok() ? FindVerb(command_line.value().verb) : FindVerb(argc > 1 ? argv[1] : "");
  const bool is_of_lab =
      verb != nullptr && (verb->is_of_lab || (!command_line.ok() && verb->bit == kPlan));
  const bool wants_all = command_line.ok() && (command_line.value().verb == "completion" ||
                                               command_line.value().wants_help);
  if (is_of_lab || wants_all) BecomeLab(argv);
  if (!is_of_lab) return command_line;
  if (command_line.ok()) {
    return UsageError("rowhouse {} {}", command_line.value().verb, LabIsMissing());
  }
  return UsageError("{} (what measures or experiments {})", command_line.status().message(),
                    LabIsMissing());
}

// What the command line asks for beside a verb's work: nothing, if it is that.
std::optional<std::string> TextAskedFor(const CommandLine& command_line) {
  if (command_line.wants_version) return VersionText();
  if (!command_line.help_topic.empty()) return PlanHelpText(command_line.help_topic);
  if (command_line.wants_help) return HelpText(command_line.verb, command_line.help_page);
  return std::nullopt;
}

// The settings of the verb, as it may use them. With --print_config no data need be there.
Result<Settings> SettingsOf(const CommandLine& command_line, bool prints_config) {
  if (!prints_config) RETURN_IF_ERROR(CheckSaysWhatToTrain(command_line));
  ASSIGN_OR_RETURN(Settings settings, MakeSettings(command_line));
  RETURN_IF_ERROR(settings.Validate(!prints_config && ReadsData(command_line)));
  return settings;
}

int Main(int argc, char** argv) {
  InstallLastWords();
  std::signal(SIGXFSZ, SIG_IGN);  // A file beyond `ulimit -f`: write() says so, and we do.
  KeepLargeBlocks();              // Before any thread: it holds for arenas made later.
  const Result<CommandLine> parsed = CommandLineOrLab(argc, argv);
  if (!parsed.ok()) return ExitBeforeMeeting(parsed.status());
  const CommandLine& command_line = parsed.value();
  const std::string& verb = command_line.verb;
  if (verb == "train" || verb == "predict" || verb == "eval" || verb == "bench") {
    LetThreadsSleep(argv);
  }
  if (const std::optional<std::string> text = TextAskedFor(command_line)) return Print(*text);
  if (verb == "completion") return PrintCompletion(command_line);

  const bool prints_config = command_line.Value(kPrintConfigFlag) == "true";
  const Result<Settings> made = SettingsOf(command_line, prints_config);
  if (!made.ok()) return ExitBeforeMeeting(made.status());
  const Settings& settings = made.value();
  if (prints_config) return Print(PrintedConfig(settings));

  Status status = StartLogging(command_line, argc, argv);
  if (status.ok()) status = CheckOutputsAreNoInputs(command_line, settings);
  if (status.ok()) status = CheckKillPoint();
  if (!status.ok()) return ExitBeforeMeeting(status);
  if (verb == "train") {
    PrintNotices(command_line, settings);
    return RunTrain(settings, command_line.Value(kProfileFlag));
  }
  status = RunVerb(command_line, settings);
  if (!status.ok()) std::fprintf(stderr, "rowhouse: %s\n", CleanLines(status.message()).c_str());
  return status.exit_code();
}

}  // namespace

bool AddVerbRun(const std::string& verb, VerbRun run) {
  return VerbRuns().emplace(verb, run).second;
}

int RunProgram(int argc, char** argv) {
  const int exit_code = Main(argc, argv);
  // A script that reads figures must not take half of them for all. Who stops reading (EPIPE)
  // knows.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && errno != EPIPE) {
    std::perror("rowhouse: cannot write to standard output");
    return exit_code == 0 ? 1 : exit_code;
  }
  return exit_code;
}

}  // namespace rowhouse
