#include "launch/run/text_preparation.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "common/clean_text.h"
#include "common/mutex.h"
#include "launch/hosts/cluster.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

// Rounds of workers become rarer, so that small data are opened at once and large ones are not
// disturbed.
constexpr auto kFirstPause = std::chrono::milliseconds(2);
constexpr auto kLongestPause = std::chrono::milliseconds(250);

// What a worker tells the others in a round.
enum Told : uint8_t { kDone = 0, kAtWork = 1, kToldToStop = 2 };

// PreparedText::Make on a thread of its own: the one that may call MPI is the caller's.
class Preparing {
 public:
  Preparing(const std::string& source, const DatasetOptions& options)
      : thread_([this, source, options] {
          const ConversionHooks hooks = {.progress =
                                             [this](const ConversionProgress& progress) {
                                               MutexLock lock(mutex_);
                                               progress_ = progress;
                                             },
                                         .stop = &stop_,
                                         .done =
                                             [this](const ConversionSummary& summary) {
                                               MutexLock lock(mutex_);
                                               AddBadLines(summary);
                                               warnings_.insert(warnings_.end(),
                                                                summary.warnings.begin(),
                                                                summary.warnings.end());
                                             }};
          auto made = PreparedText::Make(source, options, hooks);
          MutexLock lock(mutex_);
          made_ = std::move(made);
          is_done_ = true;
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
    return is_done_;
  }
  std::optional<ConversionProgress> progress() const {
    MutexLock lock(mutex_);
    return progress_;
  }
  // What to say of lines that were left out; "": none was.
  std::string BadLinesText() const {
    MutexLock lock(mutex_);
    if (bad_lines_ == 0) return "";
    return fmt::format("{} bad line{} left out; the first: {}", bad_lines_,
                       bad_lines_ == 1 ? " was" : "s were", first_bad_line_);
  }
  // Of the conversions.
  std::vector<std::string> warnings() const {
    MutexLock lock(mutex_);
    return warnings_;
  }
  // Requires is_done(). Call it once.
  Result<std::unique_ptr<PreparedText>> Take() {
    thread_.join();
    MutexLock lock(mutex_);
    return std::move(*made_);
  }

 private:
  void AddBadLines(const ConversionSummary& summary) REQUIRES(mutex_) {
    if (bad_lines_ == 0 && !summary.bad_line_examples.empty()) {
      first_bad_line_ = summary.bad_line_examples[0];
    }
    bad_lines_ += summary.bad_lines;
  }

  std::atomic<bool> stop_ = false;
  mutable Mutex mutex_;
  bool is_done_ GUARDED_BY(mutex_) = false;
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
    const auto told =
        static_cast<uint8_t>((is_at_work ? kAtWork : kDone) | (setup.stop ? kToldToStop : 0));
    ASSIGN_OR_RETURN(const auto all, setup.workers.AllGather(std::as_bytes(std::span(&told, 1)),
                                                             "preparing the data"));
    uint8_t any = 0;
    for (const std::vector<std::byte>& one : all) any |= static_cast<uint8_t>(one.at(0));
    if ((any & kAtWork) == 0) return OkStatus();
    if ((any & kToldToStop) != 0 && mine != nullptr) mine->Stop();
    if (is_at_work && mine->progress()) line.Show(*mine->progress());
  }
}

}  // namespace

Result<std::unique_ptr<PreparedText>> PrepareTextOnHosts(const WorkerSetup& setup,
                                                         const HostLeaders& hosts,
                                                         DatasetOptions* options) {
  std::optional<Preparing> preparing;
  if (hosts.is_leader()) {
    preparing.emplace(setup.settings.data_source(), *options);
  }
  RETURN_IF_ERROR(WaitForAll(setup, preparing ? &*preparing : nullptr));
  std::unique_ptr<PreparedText> text;
  Status status;
  if (preparing) {
    Result<std::unique_ptr<PreparedText>> made = preparing->Take();
    status = made.status();
    const std::string bad_lines = preparing->BadLinesText();
    if (setup.options.prints && !bad_lines.empty()) PrintClean("note: {}\n", bad_lines);
    if (setup.options.prints) {
      for (const std::string& warning : preparing->warnings()) PrintClean("note: {}\n", warning);
    }
    if (status.code() == StatusCode::kUnavailable) {
      status = MakeStatus(StatusCode::kUnavailable, "{}; nothing was trained{}", status.message(),
                          options->cache.empty() ? "" : ", and the next run goes on preparing");
    }
    if (made.ok()) text = std::move(made).value();
  }
  RETURN_IF_ERROR(Agree(setup.workers, status, "preparing the data"));
  ASSIGN_OR_RETURN(options->prepared, hosts.FromLeader(setup.workers, text ? text->directory() : "",
                                                       "sharing the prepared data"));
  ASSIGN_OR_RETURN(options->prepared_test,
                   hosts.FromLeader(setup.workers, text ? text->test_directory() : "",
                                    "sharing the prepared test data"));
  return text;
}

namespace {

Result<std::vector<std::string>> GatherTexts(Communicator& workers, const std::string& mine,
                                             const std::string& phase) {
  ASSIGN_OR_RETURN(const auto all, workers.AllGather(std::as_bytes(std::span(mine)), phase));
  std::vector<std::string> texts;
  for (const std::vector<std::byte>& bytes : all) {
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

}  // namespace

Result<HostLeaders> HostLeaders::Find(Communicator& workers, const std::string& host) {
  ASSIGN_OR_RETURN(const std::vector<std::string> hosts,
                   GatherTexts(workers, host, "finding the workers of each host"));
  HostLeaders leaders;
  leaders.rank_ = Raw(workers.rank());
  leaders.leader_ = static_cast<uint32_t>(std::ranges::find(hosts, host) - hosts.begin());
  return leaders;
}

Result<std::string> HostLeaders::FromLeader(Communicator& workers, const std::string& text,
                                            const std::string& phase) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, GatherTexts(workers, text, phase));
  return all.at(leader_);
}

}  // namespace rowhouse
