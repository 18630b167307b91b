// A shard trains, saves, ends, goes on and is moved while its disk fails or lies, by seed:
// RocksDB's reads, writes, fsyncs and renames do, or a file that lies there is changed, our own
// too. Whatever is opened has the rows of an undisturbed run, to the digest, or it is refused in
// words. A disk that fails and says so costs nothing that was saved.
//
//   ROWHOUSE_DISK_FAULT_SEED=17   this seed alone, with what was refused
//
// RocksDB's threads may come to an operation sooner or later, so that another one of theirs fails.
// Not drawn, as no reader of a shard could notice: all files put back to one earlier save; and a
// misdirected write of more than 4 kB: a block of RocksDB 7.8 does not say where it belongs, so
// that one is read which lies whole in the place of another (`ckpt verify` compares whole files).
#include <rocksdb/system_clock.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <random>

#include "common/durable_file.h"
#include "common/wire/checkpoint.h"
#include "common/wire/codec.h"
#include "common/wire/control.h"
#include "common/wire/pull.h"
#include "ps/shard/shard.h"
#include "ps/shard/shard_opening.h"
#include "ps/store/checkpoint_part.h"
#include "ps/store/store_environment.h"
#include "sharding/plans/plan_maker.h"
#include "tests/testing/arriving.h"
#include "tests/testing/faulty_files.h"
#include "tests/testing/frame_of.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kDiskFaultsRows = 256;
constexpr uint32_t kDiskFaultsDim = 8;
constexpr uint64_t kRunSteps = 3;  // of each run
constexpr uint64_t kRuns = 2;      // at most before and with a fault; then one without
constexpr uint64_t kAllSteps = kRunSteps * (kRuns + 1);

enum class Damage { kNone, kFlipped, kTorn, kMisdirected, kLost };
enum class Ending { kSaved, kNotSaved, kNoPower };

template <typename Enum>
using Name = std::pair<Enum, const char*>;
constexpr std::array kFileFaults = {Name<FileFault>(FileFault::kNone, "no fault"),
                                    Name<FileFault>(FileFault::kRead, "read"),
                                    Name<FileFault>(FileFault::kWrite, "write"),
                                    Name<FileFault>(FileFault::kTornWrite, "torn write"),
                                    Name<FileFault>(FileFault::kSync, "fsync"),
                                    Name<FileFault>(FileFault::kNoSpace, "no space"),
                                    Name<FileFault>(FileFault::kRename, "rename"),
                                    Name<FileFault>(FileFault::kLostWrite, "lost write"),
                                    Name<FileFault>(FileFault::kHalfLostWrite, "half lost write"),
                                    Name<FileFault>(FileFault::kFlippedWrite, "flipped write"),
                                    Name<FileFault>(FileFault::kMisdirectedWrite, "misdirected"),
                                    Name<FileFault>(FileFault::kLostSync, "lost fsync")};
constexpr std::array kDamages = {
    Name<Damage>(Damage::kFlipped, "flipped"), Name<Damage>(Damage::kTorn, "torn"),
    Name<Damage>(Damage::kMisdirected, "misdirected"), Name<Damage>(Damage::kLost, "lost")};

// RocksDB sleeps for a second after a flush that failed.
class HastyClock final : public rocksdb::SystemClockWrapper {
 public:
  HastyClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "HastyClock"; }
  void SleepForMicroseconds(int micros) override {
    SystemClockWrapper::SleepForMicroseconds(std::min(micros, 100));
  }
};

class HastyEnv final : public rocksdb::EnvWrapper {
 public:
  explicit HastyEnv(std::shared_ptr<rocksdb::FileSystem> files) : EnvWrapper(Env::Default()) {
    file_system_ = std::move(files);
    system_clock_ = std::make_shared<HastyClock>();
  }
};

JobSpec JobOf(uint32_t shards) {
  TableSpec table;
  table.name = "t";
  table.rows = kDiskFaultsRows;
  table.dim = kDiskFaultsDim;
  table.optimizer = "adagrad";
  JobSpec job;
  job.job_id = 9;
  job.model_id = "model-a";
  job.config_digest = "c";
  job.tables = {table};
  job.plan = MakeRowWisePlan(job.tables, shards);
  return job;
}

struct DiskFaultsStep {
  std::vector<uint64_t> rows;
  std::vector<float> gradients;
};

// A shard of one worker over a store, message by message. Work of saves waits for its turn beside
// that of the store. Threads: the caller's.
class DrivenShard {
 public:
  DrivenShard(ShardOptions options, const JobSpec& job, std::unique_ptr<ShardStore> store,
              std::mt19937_64 random)
      : store_(std::move(store)), random_(random) {
    options.name = "shard 0";
    options.job_id = job.job_id;
    options.first_step = step_ = job.first_step();
    shard_ =
        Shard::Make(options, job.tables, job.plan, InitialiserSources::Open(job.tables).value())
            .value();
  }

  Status TellStored() {
    OpeningProgress progress;
    return store_->TellStored(shard_.get(), &progress);
  }
  // To be called when the disk is full.
  std::function<void()> make_room = [] {};

  Result<std::vector<float>> Pull(const std::vector<uint64_t>& rows, bool eval) {
    Frames payload;
    payload.push_back(FrameOf(rows));
    payload.push_back(eval ? Frame() : FrameOf(std::vector<uint32_t>(rows.size(), 1)));
    ASSIGN_OR_RETURN(const Message answer,
                     Ask(PullRequest{.eval = eval,
                                     .tables = {{0, static_cast<uint32_t>(rows.size()), 0}},
                                     .bags = {}},
                         std::move(payload)));
    const std::span<const float> values = answer.payload[0].As<float>();
    return std::vector<float>(values.begin(), values.end());
  }
  Status Train(const DiskFaultsStep& step) {
    RETURN_IF_ERROR(Pull(step.rows, /*eval=*/false).status());
    Frames payload;
    payload.push_back(FrameOf(step.rows));
    payload.push_back(FrameOf(step.gradients));
    payload.push_back(Frame());
    const PushRequest push{.learning_rate = 0.1f,
                           .samples = 1,
                           .tables = {{0, static_cast<uint32_t>(step.rows.size()), 0}},
                           .bags = {}};
    RETURN_IF_ERROR(Ask(push, std::move(payload)).status());
    ++step_;
    return OkStatus();
  }
  Status BeginSave() {
    return Ask(CheckpointRequest{.phase = CheckpointPhase::kMark, .name = CheckpointName(step_)})
        .status();
  }
  Result<CheckpointReply> EndSave() {
    for (;;) {
      ASSIGN_OR_RETURN(const Message answer, Ask(CheckpointRequest{}));
      auto reply = DecodeBody<CheckpointReply>(answer).value();
      if (!reply.is_under_way) return reply;
      if (!CarryOutOne()) return MakeStatus(StatusCode::kInternal, "the save never ends");
    }
  }
  Result<std::string> Flush() {
    ASSIGN_OR_RETURN(const Message answer, Ask(FlushRequest{}));
    return DecodeBody<FlushReply>(answer).value().stamp;
  }
  Result<std::string> Digest() {
    RowsDigest sum;
    RETURN_IF_ERROR(AddDigest(*store_, &sum));
    return sum.hex();
  }
  static Status AddDigest(ShardStore& store, RowsDigest* sum) {
    const auto scan = std::get<StoreScanned>(store.Execute(ScanStore{1}));
    if (scan.status.ok()) sum->Merge(RowsDigest(scan.digest_high, scan.digest_low));
    return scan.status;
  }
  uint64_t next_step() const { return step_; }

 private:
  template <typename Request>
  Result<Message> Ask(const Request& request, Frames payload = {}) {
    Header header;
    header.job_id = 9;
    header.request_id = ++request_;
    header.step = step_;
    Handle(Arriving(EncodeMessage(header, request, std::move(payload))));
    while (!answers_.contains(request_)) {
      if (!CarryOutOne()) return MakeStatus(StatusCode::kInternal, "no answer to a request");
    }
    Message answer = std::move(answers_.extract(request_).mapped());
    if (answer.header.type != MessageType::kError) return answer;
    const auto error = DecodeBody<ErrorReply>(answer).value();
    return Status(static_cast<StatusCode>(error.code), error.message);
  }

  void Handle(ShardEvent event) {
    for (ShardAction& action : HandleAll(*shard_, std::move(event), ++now_)) {
      if (auto* send = std::get_if<SendFrames>(&action)) {
        Message message = Unpack(std::move(send->frames)).value();
        if (message.header.type != MessageType::kBusy) {
          answers_[message.header.request_id] = std::move(message);
        }
      } else if (IsOfSave(action)) {
        of_saves_.push_back(std::move(action));
      } else if (!std::holds_alternative<WakeAt>(action)) {
        of_store_.push_back(std::move(action));
      }
    }
  }

  // False: there is nothing to do.
  bool CarryOutOne() {
    if (of_store_.empty() && of_saves_.empty()) return false;
    if (of_store_.empty() || (!of_saves_.empty() && random_() % 3 == 0)) {
      ShardAction action = std::move(of_saves_.front());
      of_saves_.pop_front();
      Handle(store_->ExecuteSave(std::move(action)));
      return true;
    }
    ShardAction action = std::move(of_store_.front());
    of_store_.pop_front();
    // As the I/O thread does, which waits between its tries.
    constexpr int kTries = 2000;
    for (int tries = 1;; ++tries) {
      ShardEvent event = store_->Execute(action);
      const Status* status = nullptr;
      if (const auto* written = std::get_if<RowsWritten>(&event)) status = &written->status;
      if (const auto* synced = std::get_if<StoreSynced>(&event)) status = &synced->status;
      if (status == nullptr || status->code() != StatusCode::kResourceExhausted ||
          tries == kTries) {
        if (tries > 1) Handle(StoreUnblocked{});
        Handle(std::move(event));
        return true;
      }
      Handle(StoreBlocked{*status});
      if (tries == 3) make_room();
      if (tries > 3) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  std::unique_ptr<ShardStore> store_;
  std::unique_ptr<Shard> shard_;
  std::mt19937_64 random_;
  std::deque<ShardAction> of_store_, of_saves_;
  std::map<uint64_t, Message> answers_;
  uint64_t step_ = 0;  // steps pushed, over all runs; the last may not be applied yet
  uint64_t request_ = 0;
  TimeMs now_ = 0;
};

std::vector<uint64_t> AllDiskFaultsRows() {
  std::vector<uint64_t> rows(kDiskFaultsRows);
  std::iota(rows.begin(), rows.end(), uint64_t{0});
  return rows;
}

// What one seed draws, and what becomes of it.
class DiskFaultsRun {
 public:
  explicit DiskFaultsRun(uint64_t seed) : random_(seed) {
    damage_ = Draw(2) == 0 ? kDamages[Draw(kDamages.size())] : Name<Damage>(Damage::kNone, "none");
    if (damage_.first == Damage::kNone) fault_ = kFileFaults[Draw(kFileFaults.size())];
    run_ = Draw(kRuns + 1);  // kRuns: as rows move to another plan
    good_ = Draw(uint64_t{1} << Draw(8));
    times_ = Draw(2) == 0 ? 1 : 1'000'000;
    for (Ending& ending : endings_) ending = static_cast<Ending>(Draw(3));
    if (fault_.first == FileFault::kLostSync && run_ < kRuns) endings_[run_] = Ending::kNoPower;
    is_slow_ = Draw(32) == 0;
    options_.cache_bytes = uint64_t{1000} << Draw(6);
    options_.node.cache_ways = Draw(2) == 0 ? 1 : 4;
    options_.node.max_dirty_steps = Draw(2) * 2;
    options_.max_unwritten_bytes = uint64_t{1} << (10 * Draw(3));
    options_.keeps_written_rows = Draw(4) != 0;
    for (uint64_t step = 0; step < kAllSteps; ++step) steps_.push_back(DrawStep());
    MakeUndisturbed();
  }

  std::string Describe() const {
    constexpr std::array kEnds = {"saved", "not saved", "without power"};
    const std::string when = run_ < kRuns ? fmt::format("in run {}, which ends {}", run_,
                                                        kEnds[static_cast<size_t>(endings_[run_])])
                                          : "as rows move";
    if (damage_.first != Damage::kNone) {
      return fmt::format("{} {}: {}", damage_.second, when, damaged_);
    }
    return fmt::format("{} {}: {} times after {}", fault_.second, when, times_, good_);
  }
  // What was refused, and why.
  const std::vector<std::string>& refusals() const { return refusals_; }
  bool is_done() const { return is_done_; }

  void Run() {
    OpenFiles();
    const uint64_t last = run_ < kRuns ? run_ + 1 : Draw(2);
    for (uint64_t run = 0; run <= last; ++run) {
      if (run == run_ && run < kRuns) Arm();
      const Ending ending = run < last ? endings_[run] : Ending::kSaved;
      const Status ended = TrainTo(kRunSteps * (run + 1), ending);
      const bool was_hit = Heal(ending == Ending::kNoPower);
      if (!ended.ok() && !Refused(ended, was_hit)) return;
      if (is_lost_) return;
      if (run == run_ && run < kRuns) DamageOne();
    }
    // What was saved at the end is there, or where it is moved to.
    if (run_ == kRuns) {
      DamageOne();
      Arm();
    }
    const bool moves = run_ == kRuns || Draw(4) == 0;
    Status opened = moves ? Move() : Open();
    if (const bool was_hit = Heal(false); !opened.ok()) {
      if (!Refused(opened, was_hit)) return;
      if (was_hit) opened = moves ? Move() : Open();
      if (!opened.ok() && !Refused(opened, false)) return;
    }
    is_done_ = opened.ok() && saves_.back().steps == kRunSteps * (last + 1);
    EXPECT_TRUE(is_done_ || has_lied_) << "the last save is not what is gone on from";
  }

 private:
  struct Save {
    uint64_t steps = 0;
    std::string checkpoint;  // "": of the end of a run
    std::string stamp, checksum;
  };

  uint64_t Draw(uint64_t below) { return random_() % below; }

  DiskFaultsStep DrawStep() {
    std::map<uint64_t, bool> rows;
    for (uint64_t i = 0; i < 48; ++i) rows[Draw(Draw(2) == 0 ? 32 : kDiskFaultsRows)] = true;
    DiskFaultsStep step;
    for (const auto& [row, unused] : rows) {
      step.rows.push_back(row);
      for (uint32_t i = 0; i < kDiskFaultsDim; ++i) {
        step.gradients.push_back(static_cast<float>(Draw(2000)) / 1000.0f - 1.0f);
      }
    }
    return step;
  }

  void MakeUndisturbed() {
    const JobSpec job = JobOf(1);
    DrivenShard shard(
        {}, job,
        std::make_unique<ShardStore>(RowStores().Make("memory", {}).value(), "", job.tables),
        random_);
    for (uint64_t step = 0;; ++step) {
      weights_.push_back(shard.Pull(AllDiskFaultsRows(), /*eval=*/true).value());
      CHECK(shard.Flush().ok());
      digests_.push_back(shard.Digest().value());
      if (step == kAllSteps) return;
      CHECK(shard.Train(steps_[step]).ok());
    }
  }

  void OpenFiles() {
    StoreEnvironmentOptions options{.block_cache_bytes = 1 << 20, .memtable_bytes = 256 << 10};
    options.opening_threads = 1;
    options.files = &env_;
    options.stall_limit_ms = 200;
    environment_ = std::make_shared<StoreEnvironment>(options);
    if (is_slow_) files_->SetSyncDelay(std::chrono::milliseconds(1));
  }
  void Arm() {
    files_->Fail(fault_.first, static_cast<int64_t>(good_), static_cast<int64_t>(times_));
  }
  // Ends the run. Whether the fault was met.
  bool Heal(bool loses_power) {
    const bool was_hit = files_->has_failed();
    if (loses_power) files_->PowerOff();
    shard_.reset();
    if (loses_power) files_->LoseUnsynced();
    files_->Heal();
    if (was_hit && IsUntold(fault_.first)) has_lied_ = true;
    return was_hit;
  }

  // True: it may be, and is, in words.
  bool Refused(const Status& status, bool was_hit) {
    refusals_.push_back(status.ToString());
    const bool may_be = has_lied_ || was_hit;
    EXPECT_TRUE(may_be) << "refused although nothing is wrong: " << status.ToString();
    EXPECT_NE(status.code(), StatusCode::kInternal) << status.ToString();
    EXPECT_THAT(status.message(), testing::HasSubstr(dir_.path()));
    return may_be;
  }

  ShardOpeningOptions Opening(const std::string& name) const {
    return {
        .store = "rocksdb", .row_dir = dir_ / name, .host = "here", .environment = environment_};
  }
  std::string Directory() const { return ShardDirectory(dir_ / "rows", ShardId{0}); }

  static JobSpec Loading(JobSpec job, const Save& save, const std::string& directory) {
    job.is_load = true;
    job.load = {.step = save.steps, .plan_digest = JobOf(1).plan.digest(), .shards = {}};
    job.load.checkpoint = save.checkpoint;
    job.load.shards.push_back({.shard = ShardId{0},
                               .host = "here",
                               .directory = save.checkpoint.empty()
                                                ? directory
                                                : CheckpointPart(directory, save.checkpoint),
                               .checksum = save.checksum,
                               .stamp = save.stamp});
    return job;
  }

  Status OpenOne(const JobSpec& job) {
    ASSIGN_OR_RETURN(auto store, OpenShardStore(Opening("rows"), job, ShardId{0}));
    shard_ = std::make_unique<DrivenShard>(options_, job, std::move(store), random_);
    shard_->make_room = [this] {
      if (fault_.first == FileFault::kNoSpace) files_->Heal();
    };
    RETURN_IF_ERROR(shard_->TellStored());
    const uint64_t step = shard_->next_step();
    ASSIGN_OR_RETURN(const std::string digest, shard_->Digest());
    EXPECT_EQ(digest, digests_[step]) << "after " << step << " steps";
    ASSIGN_OR_RETURN(const auto weights, shard_->Pull(AllDiskFaultsRows(), /*eval=*/true));
    EXPECT_EQ(weights, weights_[step]) << "after " << step << " steps";
    return OkStatus();
  }

  // Goes on from the newest save that is not refused; without any, anew. The error of the last one.
  Status Open() {
    if (saves_.empty()) {
      JobSpec job = JobOf(1);
      job.overwrite = true;
      return OpenOne(job);
    }
    Status opened;
    for (size_t i = saves_.size(); i-- > 0;) {
      opened = OpenOne(Loading(JobOf(1), saves_[i], Directory()));
      if (opened.ok()) {
        saves_.resize(i + 1);
        return opened;
      }
      shard_.reset();
      // Nobody goes back for an error that may be over.
      if (!has_lied_ && !(IsUntold(fault_.first) && files_->has_failed())) return opened;
      if (i > 0) Refused(opened, files_->has_failed());
    }
    is_lost_ = true;
    return opened;
  }

  // A save in mid-run, beside so many steps.
  Status SaveBeside(uint64_t steps) {
    const uint64_t at = shard_->next_step();
    RETURN_IF_ERROR(shard_->BeginSave());
    for (uint64_t i = 0; i < steps; ++i) RETURN_IF_ERROR(TrainStep());
    ASSIGN_OR_RETURN(const CheckpointReply made, shard_->EndSave());
    if (!made.no_room.empty()) return OkStatus();
    std::erase_if(saves_, [&](const Save& save) { return save.steps == at; });
    saves_.push_back({.steps = at, .checkpoint = CheckpointName(at), .checksum = made.checksum});
    if (Draw(2) == 0) Remember();
    return OkStatus();
  }
  Status TrainStep() {
    // Rows are changed in place: what the end of the run before saved is gone.
    std::erase_if(saves_, [](const Save& save) { return save.checkpoint.empty(); });
    return shard_->Train(steps_[shard_->next_step()]);
  }

  Status TrainTo(uint64_t end, Ending ending) {
    RETURN_IF_ERROR(Open());
    if (Draw(4) != 0) {  // As a run with --save_every.
      const bool is_saved = !saves_.empty() && !saves_.back().checkpoint.empty();
      if (!is_saved) RETURN_IF_ERROR(SaveBeside(0));
    }
    while (shard_->next_step() < end) {
      RETURN_IF_ERROR(TrainStep());
      const uint64_t left = end - shard_->next_step();
      if (Draw(3) == 0) RETURN_IF_ERROR(SaveBeside(left == 0 ? 0 : Draw(left + 1)));
    }
    if (ending != Ending::kSaved) return OkStatus();
    const uint64_t steps = shard_->next_step();
    std::erase_if(saves_, [](const Save& save) { return save.checkpoint.empty(); });
    ASSIGN_OR_RETURN(const std::string stamp, shard_->Flush());
    saves_.push_back({.steps = steps, .checkpoint = "", .stamp = stamp});
    if (Draw(2) == 0) Remember();
    return OkStatus();
  }

  // To the shards of another plan, from the newest save.
  Status Move() {
    if (saves_.empty()) return OkStatus();
    const Save& save = saves_.back();
    const JobSpec job = Loading(JobOf(2), save, Directory());
    RowsDigest sum;
    for (uint32_t shard = 0; shard < 2; ++shard) {
      ASSIGN_OR_RETURN(auto store, OpenShardStore(Opening("moved"), job, ShardId{shard}));
      RETURN_IF_ERROR(DrivenShard::AddDigest(*store, &sum));
    }
    EXPECT_EQ(sum.hex(), digests_[save.steps]) << "moved";
    return OkStatus();
  }

  // ---- Files that lie there ----

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& file : fs::recursive_directory_iterator(dir_.path())) {
      if (file.is_regular_file()) files.push_back(file.path().string());
    }
    std::ranges::sort(files);
    return files;
  }
  void Remember() {
    earlier_.clear();
    for (const std::string& file : Files()) {
      const Result<std::string> bytes = ReadFile(file);  // RocksDB deletes some meanwhile.
      if (bytes.ok()) earlier_[file] = bytes.value();
    }
  }
  // One of any kind, and of its files any.
  std::string DrawFile(const std::vector<std::string>& files) {
    std::map<std::string, std::vector<std::string>> kinds;
    for (const std::string& file : files) {
      const fs::path path(file);
      const std::string name = path.filename().string();
      const std::string kind = path.extension() == ".sst" ? ".sst" : name.substr(0, name.find('-'));
      if (kind != "LOCK") kinds[kind].push_back(file);
    }
    if (kinds.empty()) return "";
    const auto& of_kind =
        std::next(kinds.begin(), static_cast<std::ptrdiff_t>(Draw(kinds.size())))->second;
    return of_kind[Draw(of_kind.size())];
  }
  // In place: other names of the file have the same bytes.
  static void Overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  void DamageOne() {
    if (damage_.first == Damage::kNone) return;
    std::vector<std::string> files = Files();
    if (damage_.first == Damage::kLost) {
      // What was written, made or deleted since may be lost.
      for (const auto& [file, bytes] : earlier_) files.push_back(file);
      if (earlier_.empty()) files.clear();
      std::erase_if(files, [&](const std::string& file) {
        const auto found = earlier_.find(file);
        if (!fs::exists(fs::path(file).parent_path())) return true;
        return found != earlier_.end() && fs::exists(file) &&
               ReadFile(file).value() == found->second;
      });
    }
    const std::string path = DrawFile(files);
    if (path.empty()) return;
    damaged_ = path.substr(dir_.path().size());
    has_lied_ = true;
    std::string bytes = fs::exists(path) ? ReadFile(path).value() : "";
    switch (damage_.first) {
      case Damage::kNone:
        break;
      case Damage::kFlipped: {
        if (bytes.empty()) return;
        const uint64_t bit = Draw(bytes.size() * 8);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        damaged_ += fmt::format(" bit {} of {} bytes", bit, bytes.size());
        break;
      }
      case Damage::kTorn:
        bytes.resize(bytes.empty() ? 0 : Draw(bytes.size()));
        damaged_ += fmt::format(" at {}", bytes.size());
        break;
      case Damage::kMisdirected: {
        const std::string other = Draw(2) == 0 ? path : DrawFile(files);
        const std::string source = ReadFile(other).value(), before = bytes;
        uint64_t block = 0, from = 0, to = 0;
        for (int tries = 0; bytes == before && tries < 8; ++tries) {
          block = Draw(2) == 0 ? 512 : 4096;
          from = Draw(source.size() / block + 1) * block;
          to = Draw(bytes.size() / block + 1) * block;
          const size_t count = std::min({block, source.size() - from, bytes.size() - to});
          std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), count,
                      bytes.begin() + static_cast<std::ptrdiff_t>(to));
        }
        damaged_ += fmt::format(" at {} by {} bytes at {} of {}", to, block, from, other);
        break;
      }
      case Damage::kLost: {
        const auto found = earlier_.find(path);
        if (found == earlier_.end()) {
          fs::remove(path);
          return;
        }
        bytes = found->second;
        break;
      }
    }
    Overwrite(path, bytes);
  }

  std::mt19937_64 random_;
  Name<FileFault> fault_ = kFileFaults[0];
  Name<Damage> damage_;
  uint64_t run_ = 0, good_ = 0, times_ = 0;
  std::array<Ending, kRuns> endings_ = {};
  bool is_slow_ = false;
  ShardOptions options_;
  std::vector<DiskFaultsStep> steps_;
  std::vector<std::vector<float>> weights_;  // of all rows, after so many steps undisturbed
  std::vector<std::string> digests_;         // likewise

  TempDir dir_{fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path()};
  std::shared_ptr<FaultyFiles> files_ = std::make_shared<FaultyFiles>();
  HastyEnv env_{files_};
  std::shared_ptr<StoreEnvironment> environment_;
  std::unique_ptr<DrivenShard> shard_;
  std::vector<Save> saves_;                     // by steps, as a worker's manifests name them
  std::map<std::string, std::string> earlier_;  // files, as they were at a save
  std::string damaged_;
  bool has_lied_ = false;  // the disk has, without a word
  bool is_lost_ = false;   // nothing can be gone on from
  bool is_done_ = false;
  std::vector<std::string> refusals_;
};

class DiskFaults : public testing::TestWithParam<uint64_t> {};

constexpr uint64_t kSeedsOfCase = 50;

TEST_P(DiskFaults, EndInTheUndisturbedDigestOrAreRefusedInWords) {
  const char* const only = getenv("ROWHOUSE_DISK_FAULT_SEED");
  uint64_t done = 0, refused = 0;
  for (uint64_t seed = GetParam() * kSeedsOfCase; seed < (GetParam() + 1) * kSeedsOfCase; ++seed) {
    if (only != nullptr && seed != std::stoull(only)) continue;
    DiskFaultsRun run(seed);
    const auto describe = [&] { return fmt::format("seed {}: {}\n", seed, run.Describe()); };
    // Seen if the process dies.
    fmt::print(stderr, "{}", describe());
    run.Run();
    done += run.is_done() ? 1 : 0;
    refused += run.refusals().empty() ? 0 : 1;
    if (HasFailure() || only != nullptr) {
      fmt::print(stderr, "{}{}\n", describe(), run.is_done() ? "done" : "not done");
      for (const std::string& refusal : run.refusals()) fmt::print(stderr, "  {}\n", refusal);
    }
    ASSERT_FALSE(HasFailure()) << describe();
  }
  fmt::print("{} ended in the undisturbed digest, {} were refused something\n", done, refused);
  if (only != nullptr) return;
  EXPECT_GT(done, kSeedsOfCase / 2);
  EXPECT_GT(refused, kSeedsOfCase / 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DiskFaults, testing::Range<uint64_t>(0, 40));

}  // namespace
}  // namespace rowhouse
