#include "ps/io_thread.h"

#include "common/thread_name.h"

namespace rowhouse {

IoThread::IoThread(std::string name, ShardStore& store, std::function<void(ShardEvent)> done)
    : store_(store), done_(std::move(done)), thread_([this, name = std::move(name)] {
        NameThisThread(name);
        Run();
      }) {}

IoThread::~IoThread() {
  {
    std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  submitted_.notify_one();
  thread_.join();
}

void IoThread::Submit(ShardAction action) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(action));
  }
  submitted_.notify_one();
}

void IoThread::Run() {
  for (;;) {
    ShardAction action;
    {
      std::unique_lock lock(mutex_);
      submitted_.wait(lock, [this] { return is_closing_ || !queue_.empty(); });
      if (queue_.empty()) return;
      action = std::move(queue_.front());
      queue_.pop_front();
    }
    done_(store_.Execute(std::move(action)));
  }
}

}  // namespace rowhouse
