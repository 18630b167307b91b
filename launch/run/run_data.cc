#include "launch/run/run_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/clean_text.h"
#include "common/durable_file.h"
#include "common/mutex.h"
#include "common/status.h"
#include "common/temporary_directory.h"
#include "launch/hosts/cluster.h"
#include "launch/model/model_settings.h"
#include "launch/run/worker_run.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{16} << 20;

Result<std::vector<std::string>> GatherTexts(Communicator& workers, const std::string& mine,
                                             const std::string& phase) {
  ASSIGN_OR_RETURN(const auto all, workers.AllGather(std::as_bytes(std::span(mine)), phase));
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& bytes : all) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

// HostLeaders: one worker of each host, who does for the others what is done once a host.
class HostLeaders {
 public:
  // Collective. `host`: this worker's; the first worker of a host leads it.
  static Result<HostLeaders> Find(Communicator& workers, const std::string& host) {
    ASSIGN_OR_RETURN(const std::vector<std::string> hosts,
                     GatherTexts(workers, host, "finding the workers of each host"));
    HostLeaders leaders;
    leaders.rank_ = Raw(workers.rank());
    leaders.leader_ = static_cast<uint32_t>(std::ranges::find(hosts, host) - hosts.begin());
    return leaders;
  }

  bool is_leader() const { return leader_ == rank_; }
  // The first worker's host needs nothing sent.
  bool is_first_host() const { return leader_ == 0; }

  // Collective: the text that the leader of this host gives. What others give is ignored.
  Result<std::string> FromLeader(Communicator& workers, const std::string& text,
                                 const std::string& phase) const {
    ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherTexts(workers, text, phase));
    return all.at(leader_);
  }

 private:
  uint32_t rank_ = 0, leader_ = 0;
};

// ---- Text ---------------------------------------------------------------------------------------

// Rounds of workers become rarer, so that small data are opened at once and large ones are not
// disturbed.
constexpr auto kFirstPause = std::chrono::milliseconds(2);
constexpr auto kLongestPause = std::chrono::milliseconds(250);

// What a worker reports to the others in a round.
enum WorkerState : uint8_t { kDone = 0, kAtWork = 1, kAskedToStop = 2 };

// PreparedText::Make on a thread of its own: the one that may call MPI is the caller's.
class Preparing {
 public:
  Preparing(const std::string& source, const DatasetOptions& options)
      : thread_([this, source, options] {
          const ConversionHooks hooks = {
              .progress = [this](const ConversionProgress& progress) { OnProgress(progress); },
              .stop = &stop_,
              .done = [this](const ConversionSummary& summary) { OnDone(summary); }};
          auto made = PreparedText::Make(source, options, hooks);
          MutexLock lock(mutex_);
          made_ = std::move(made);
        }) {}
  ~Preparing() {
    Stop();
    if (thread_.joinable()) thread_.join();
  }
  Preparing(const Preparing&) = delete;
  Preparing& operator=(const Preparing&) = delete;

  void Stop() { stop_ = true; }
  bool is_done() const {
    MutexLock lock(mutex_);
    return made_.has_value();
  }
  std::optional<ConversionProgress> progress() const {
    MutexLock lock(mutex_);
    return progress_;
  }
  // What to say of the conversions: of lines that were left out, and their warnings.
  std::vector<std::string> Notes() const {
    MutexLock lock(mutex_);
    std::vector<std::string> notes = warnings_;
    if (bad_lines_ == 0) return notes;
    notes.insert(notes.begin(), fmt::format("{} bad line{} left out; the first: {}", bad_lines_,
                                            bad_lines_ == 1 ? " was" : "s were", first_bad_line_));
    return notes;
  }
  // Requires is_done(). Call it once.
  Result<std::unique_ptr<PreparedText>> Take() {
    thread_.join();
    MutexLock lock(mutex_);
    return std::move(*made_);
  }

 private:
  void OnProgress(const ConversionProgress& progress) {
    MutexLock lock(mutex_);
    progress_ = progress;
  }
  void OnDone(const ConversionSummary& summary) {
    MutexLock lock(mutex_);
    if (bad_lines_ == 0 && !summary.bad_line_examples.empty()) {
      first_bad_line_ = summary.bad_line_examples[0];
    }
    bad_lines_ += summary.bad_lines;
    warnings_.insert(warnings_.end(), summary.warnings.begin(), summary.warnings.end());
  }

  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  std::optional<ConversionProgress> progress_ GUARDED_BY(mutex_);
  std::optional<Result<std::unique_ptr<PreparedText>>> made_ GUARDED_BY(mutex_);
  uint64_t bad_lines_ GUARDED_BY(mutex_) = 0;  // of train and test files
  std::string first_bad_line_ GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ GUARDED_BY(mutex_);
  std::thread thread_;  // last: it uses the members above
};

// How far it is, for the worker that prints: a line that is rewritten on a terminal, or else one
// every ten seconds.
class ProgressLine {
 public:
  explicit ProgressLine(bool prints)
      : prints_(prints), is_terminal_(prints && IsWatchedOnTerminal()) {}
  ~ProgressLine() {
    if (is_written_ && is_terminal_) fmt::print("\r\033[K");
    std::fflush(stdout);
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const ConversionProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!prints_ || now < next_) return;
    next_ = now + (is_terminal_ ? std::chrono::seconds(1) : std::chrono::seconds(10));
    is_written_ = true;
    const auto megabytes = [](uint64_t bytes) { return bytes / 1000000; };
    const std::string part =
        progress.passes > 1 ? fmt::format("pass {} of {}, ", progress.pass, progress.passes) : "";
    fmt::print("{}preparing the data: {}{} of {} MB, {} samples{}", is_terminal_ ? "\r\033[K" : "",
               part, megabytes(progress.bytes_done), megabytes(progress.bytes), progress.samples,
               is_terminal_ ? "" : "\n");
    std::fflush(stdout);
  }

 private:
  const bool prints_, is_terminal_;
  bool is_written_ = false;
  // Short preparations say nothing.
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

// Collective: meets the others until no worker is at work. `mine` is null on those who only wait.
Status WaitForAll(const WorkerSetup& setup, Preparing* mine) {
  ProgressLine line(setup.options.prints);
  auto pause = kFirstPause;
  for (;;) {
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
    const bool is_at_work = mine != nullptr && !mine->is_done();
    const auto mine_is =
        static_cast<uint8_t>((is_at_work ? kAtWork : kDone) | (setup.stop ? kAskedToStop : 0));
    ASSIGN_OR_RETURN(const auto all, setup.workers.AllGather(std::as_bytes(std::span(&mine_is, 1)),
                                                             "preparing the data"));
    uint8_t any = 0;
    for (const std::vector<std::byte>& one : all) any |= static_cast<uint8_t>(one.at(0));
    if ((any & kAtWork) == 0) return OkStatus();
    if ((any & kAskedToStop) != 0 && mine != nullptr) mine->Stop();
    if (is_at_work && mine->progress()) line.Show(*mine->progress());
  }
}

// Collective. Text is prepared by one worker of each host while the others wait. Sets
// options->text.prepared and prepared_test on all workers; returns the prepared text on the leader
// of each host, null on the others. All workers return OK or the same error.
Result<std::unique_ptr<PreparedText>> PrepareTextOnHosts(const WorkerSetup& setup,
                                                         const HostLeaders& hosts,
                                                         DatasetOptions* options) {
  std::optional<Preparing> preparing;
  if (hosts.is_leader()) preparing.emplace(setup.settings.data_source(), *options);
  RETURN_IF_ERROR(WaitForAll(setup, preparing ? &*preparing : nullptr));
  std::unique_ptr<PreparedText> text;
  Status status;
  if (preparing) {
    Result<std::unique_ptr<PreparedText>> made = preparing->Take();
    status = made.status();
    if (setup.options.prints) {
      for (const std::string& note : preparing->Notes()) PrintClean("note: {}\n", note);
    }
    if (status.code() == StatusCode::kUnavailable) {
      status =
          MakeStatus(StatusCode::kUnavailable, "{}; nothing was trained{}", status.message(),
                     options->text.cache.empty() ? "" : ", and the next run goes on preparing");
    }
    if (made.ok()) text = std::move(made).value();
  }
  RETURN_IF_ERROR(Agree(setup.workers, status, "preparing the data"));
  ASSIGN_OR_RETURN(
      options->text.prepared,
      hosts.FromLeader(setup.workers, text ? text->directory() : "", "sharing the prepared data"));
  ASSIGN_OR_RETURN(options->text.prepared_test,
                   hosts.FromLeader(setup.workers, text ? text->test_directory() : "",
                                    "sharing the prepared test data"));
  return text;
}

// ---- The preprocessing of a model ---------------------------------------------------------------

// A preprocessing and where its files lie; the directory goes last.
struct KeptPreprocessing {
  std::unique_ptr<TemporaryDirectory> directory;
  std::shared_ptr<const Preprocessing> preprocessing;
};

// Collective: the file of the first worker as `copy` on this one, unless that is "".
Status SendFile(Communicator& workers, const std::string& file, const std::string& copy,
                const std::string& phase) {
  const bool is_first = Raw(workers.rank()) == 0;
  std::ifstream in;
  std::ofstream out;
  Status status;
  if (is_first) {
    in.open(file, std::ios::binary);
    if (!in) status = StatusFromErrno(errno, "open", file);
  }
  if (!copy.empty()) out.open(copy, std::ios::binary);
  for (;;) {
    std::string piece;
    if (is_first && in.good()) {
      piece.resize(kPieceBytes);
      in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      piece.resize(static_cast<size_t>(in.gcount()));
    }
    if (is_first && in.bad()) status = IoError("cannot read {}", file);
    ASSIGN_OR_RETURN(piece, BroadcastFromFirst(workers, piece, phase));
    if (piece.empty()) break;
    if (!copy.empty()) out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  }
  if (!copy.empty()) out.close();
  if (!copy.empty() && !out) {
    status =
        IoError("cannot write {}: the model's preprocessing needs room there; set TMPDIR", copy);
  }
  return Agree(workers, status, phase);
}

// Collective. Null if `saved` has none. Its files lie on the first worker's host; hosts that do not
// see them under the same path get their bytes, piece by piece, into a temporary directory, which
// is gone when its workers have opened them: a vocabulary of any size takes disk there, not memory.
// All workers return OK or the same error.
Result<std::shared_ptr<const Preprocessing>> SharePreprocessing(const WorkerSetup& setup,
                                                                const HostLeaders& hosts,
                                                                const DatasetState& saved) {
  constexpr const char* kPhase = "sharing the model's preprocessing";
  Communicator& workers = setup.workers;
  std::vector<PreprocessingFile> files = PreprocessingFilesOf(saved);
  if (files.empty()) return std::shared_ptr<const Preprocessing>();
  // The names hold checksums: a file of this name is this file.
  const bool has_all = std::ranges::all_of(files, [](const PreprocessingFile& file) {
    std::error_code ignored;
    return fs::exists(file.path, ignored);
  });
  ASSIGN_OR_RETURN(const std::string here,
                   hosts.FromLeader(workers, has_all ? "yes" : "no", kPhase));
  const bool gets_copies = here == "no" && !hosts.is_first_host();
  ASSIGN_OR_RETURN(const auto all_get,
                   workers.AllGather(std::as_bytes(std::span(&gets_copies, 1)), kPhase));
  const bool sends = std::ranges::any_of(
      all_get, [](const std::vector<std::byte>& one) { return one.at(0) != std::byte{0}; });
  // The files stay as long as the preprocessing: a conversion copies them.
  auto kept = std::make_shared<KeptPreprocessing>();
  if (sends) {
    const bool makes_copies = gets_copies && hosts.is_leader();
    Status made;
    if (makes_copies) {
      auto directory = TemporaryDirectory::Make("rowhouse-preprocessing");
      made = directory.status().Annotate("the model's preprocessing");
      if (made.ok()) kept->directory = std::move(directory).value();
    }
    RETURN_IF_ERROR(Agree(workers, made, kPhase));
    ASSIGN_OR_RETURN(
        const std::string place,
        hosts.FromLeader(workers, makes_copies ? kept->directory->path() : "", kPhase));
    for (PreprocessingFile& file : files) {
      const std::string copy = place + "/" + fs::path(file.path).filename().string();
      RETURN_IF_ERROR(SendFile(workers, file.path, makes_copies ? copy : "", kPhase));
      if (gets_copies) file.path = copy;
    }
  }
  auto opened = Preprocessing::OpenFiles(files);
  RETURN_IF_ERROR(Agree(workers, opened.status(), "opening the model's preprocessing"));
  kept->preprocessing = std::move(opened).value();
  return std::shared_ptr<const Preprocessing>(kept, kept->preprocessing.get());
}

// Data that were mapped before the run must have been mapped as the model's were. *model: null if
// it kept no preprocessing.
Status CheckMapping(const Settings& settings, const Preprocessing* model, Dataset& data) {
  ASSIGN_OR_RETURN(const DatasetState state, data.StateAt(0, 0));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Preprocessing> of_data, PreprocessingOf(state));
  const std::string& model_dir = settings.output.model_dir;
  if (model == nullptr) {
    if (of_data == nullptr || IsWithoutMemory(of_data->schema())) return OkStatus();
    return UsageError(
        "--load: the model in {} was saved without a preprocessing, and --data={} have "
        "dictionaries, "
        "multi-hot bags or standardised columns of their own: their ids are not the model's; train "
        "anew",
        model_dir, settings.data.file);
  }
  if (of_data != nullptr && of_data->digest() == model->digest()) return OkStatus();
  if (of_data != nullptr && settings.data.text.grow_dictionaries) {
    ASSIGN_OR_RETURN(const bool has_grown, Extends(*of_data, *model));
    if (has_grown) return OkStatus();
  }
  return UsageError(
      "--load: --data={} were not mapped as the data of the model in {} were (preprocessing {}, "
      "the "
      "model's is {}): give the text they were made from, or convert it with rowhouse data convert "
      "FILE --out=DIR --model_dir={}",
      settings.data.file.empty() ? settings.data_generation : settings.data.file, model_dir,
      of_data == nullptr ? "none" : of_data->digest(), model->digest(), model_dir);
}

}  // namespace

Result<RunData> OpenRunData(const WorkerSetup& setup, const RunStart& start) {
  const Settings& settings = setup.settings;
  Communicator& workers = setup.workers;
  const DatasetDeclaration& source = DeclarationOfDataset(settings.data_source());
  ASSIGN_OR_RETURN(const HostLeaders hosts, HostLeaders::Find(workers, setup.options.host));
  DatasetOptions options = settings.data;
  source.adjust(&options);
  ASSIGN_OR_RETURN(options.text.preprocessing, SharePreprocessing(setup, hosts, start.data));
  RunData run;
  if (source.reads_text) {
    ASSIGN_OR_RETURN(run.text, PrepareTextOnHosts(setup, hosts, &options));
  }
  Result<std::unique_ptr<Dataset>> opened = Datasets().Make(settings.data_source(), options);
  RETURN_IF_ERROR(Agree(workers, opened.status(), "opening the data"));
  run.data = std::move(opened).value();
  if (run.text) run.text->DropSamples();
  const TrainingSettings& training = settings.training;
  if (run.data->valid_samples() == 0 &&
      (training.early_stop_patience > 0 || training.plateau_patience > 0)) {
    return UsageError(
        "early_stop_patience={} and plateau_patience={} count validations, and no sample is held "
        "out for them by split_index={}",
        training.early_stop_patience, training.plateau_patience,
        settings.data.held_out.split_index);
  }
  if (run.data->valid_samples() > 0 && training.test_freq == 0) {
    return UsageError(
        "split_index={} holds out {} samples for validation, and nothing says when the model is "
        "validated on them; give --test_freq=STEPS",
        settings.data.held_out.split_index, run.data->valid_samples());
  }
  if (!start.job.is_load) return run;
  RETURN_IF_ERROR(Agree(workers,
                        CheckMapping(settings, options.text.preprocessing.get(), *run.data),
                        "comparing the preprocessing"));
  return run;
}

}  // namespace rowhouse
