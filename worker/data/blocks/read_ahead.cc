#include "worker/data/blocks/read_ahead.h"

#include <optional>
#include <thread>

#include "common/mutex.h"
#include "common/thread_name.h"

namespace rowhouse {
namespace {

struct Slice {
  uint64_t epoch = 0, first = 0, count = 0;
  bool operator==(const Slice&) const = default;
};

class ReadAheadData final : public Dataset {
 public:
  explicit ReadAheadData(std::unique_ptr<Dataset> source) : source_(std::move(source)) {}

  ~ReadAheadData() override {
    if (!thread_.joinable()) return;
    {
      MutexLock lock(mutex_);
      is_ending_ = true;
      changed_.NotifyAll();
    }
    thread_.join();
  }

  uint64_t train_samples() const override { return source_->train_samples(); }
  uint64_t test_samples() const override { return source_->test_samples(); }
  std::string content_digest() const override { return source_->content_digest(); }

  Status ReadTrain(uint64_t epoch, uint64_t first, uint64_t count, Batch* batch) override {
    const Slice asked = {epoch, first, count};
    const bool is_there = WaitFor(asked);
    Status status;
    if (is_there) {
      std::swap(*batch, batch_);
      status = status_;
    } else {
      status = source_->ReadTrain(epoch, first, count, batch);
    }
    if (status.ok()) ReadNext(asked);
    last_ = asked;
    return status;
  }

  Status ReadTest(uint64_t first, uint64_t count, Batch* batch) override {
    WaitFor({});
    return source_->ReadTest(first, count, batch);
  }

  Result<DatasetState> StateAt(uint64_t epoch, uint64_t next) override {
    WaitFor({});
    return source_->StateAt(epoch, next);
  }

  Status GoOnFrom(uint64_t epoch, uint64_t next, const DatasetState& state) override {
    WaitFor({});
    return source_->GoOnFrom(epoch, next, state);
  }

 private:
  enum class State { kNothing, kAsked, kReading, kRead };

  // Waits until the thread reads nothing; then the source, batch_ and status_ are the caller's.
  // Returns whether they are those of `asked`. The wait ends, as reading a mapped file does. A
  // slice that the thread has not begun, for want of a core, the caller reads sooner itself.
  bool WaitFor(const Slice& asked) {
    MutexLock lock(mutex_);
    while (state_ == State::kReading) changed_.Wait(mutex_);
    const bool is_there = state_ == State::kRead && slice_ == asked;
    state_ = State::kNothing;
    return is_there;
  }

  // Guesses the slice after `asked` and has it read.
  void ReadNext(const Slice& asked) {
    if (!last_ || last_->epoch != asked.epoch || last_->first >= asked.first) return;
    const uint64_t first = asked.first + (asked.first - last_->first);
    if (first >= train_samples() || asked.count > train_samples() - first) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
    MutexLock lock(mutex_);
    slice_ = {asked.epoch, first, asked.count};
    state_ = State::kAsked;
    changed_.NotifyAll();
  }

  void Run() {
    NameThisThread("read-ahead");
    for (;;) {
      Slice slice;
      {
        MutexLock lock(mutex_);
        while (state_ != State::kAsked && !is_ending_) changed_.Wait(mutex_);
        if (is_ending_) return;
        slice = slice_;
        state_ = State::kReading;
      }
      status_ = source_->ReadTrain(slice.epoch, slice.first, slice.count, &batch_);
      MutexLock lock(mutex_);
      state_ = State::kRead;
      changed_.NotifyAll();
    }
  }

  // Used by the thread while kReading, by the owner otherwise.
  const std::unique_ptr<Dataset> source_;
  Batch batch_;
  Status status_;

  std::optional<Slice> last_;  // asked for last
  Mutex mutex_;
  CondVar changed_;
  State state_ GUARDED_BY(mutex_) = State::kNothing;
  Slice slice_ GUARDED_BY(mutex_);  // that is asked for, being read, or in batch_
  bool is_ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Dataset> MakeReadAhead(std::unique_ptr<Dataset> source) {
  return std::make_unique<ReadAheadData>(std::move(source));
}

}  // namespace rowhouse
