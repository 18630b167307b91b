#include <gtest/gtest.h>

#include "tests/testing/sim_scheduler.h"

namespace rowhouse {
namespace {

TEST(SimScheduler, TimeMovesToTheNextEventOnly) {
  SimScheduler scheduler(1);
  std::vector<TimeNs> times;
  scheduler.After(50, [&] { times.push_back(scheduler.NowNs()); });
  scheduler.After(20, [&] {
    times.push_back(scheduler.NowNs());
    scheduler.After(5, [&] { times.push_back(scheduler.NowNs()); });
  });
  scheduler.Run({[&] {
    scheduler.WaitUntil(100);
    times.push_back(scheduler.NowNs());
  }});
  EXPECT_EQ(times, (std::vector<TimeNs>{20, 25, 50, 100}));
}

TEST(SimScheduler, AWaitEndsWhenItsTaskIsWoken) {
  SimScheduler scheduler(1);
  TimeNs woken_at = 0;
  scheduler.Run({[&] {
                   scheduler.WaitUntil(SimScheduler::kNever);
                   woken_at = scheduler.NowNs();
                 },
                 [&] {
                   scheduler.WaitUntil(30);
                   scheduler.WakeTask(0);
                 }});
  EXPECT_EQ(woken_at, 30);
}

// The order of three tasks that always want to run at the same time.
std::string OrderOf(uint64_t seed) {
  SimScheduler scheduler(seed);
  std::string order;
  std::vector<std::function<void()>> tasks;
  for (const char name : {'a', 'b', 'c'}) {
    tasks.push_back([&, name] {
      for (TimeNs at = 1; at <= 20; ++at) {
        order += name;
        scheduler.WaitUntil(at);
      }
    });
  }
  scheduler.Run(std::move(tasks));
  return order;
}

TEST(SimScheduler, ASeedDecidesWhatHappensAtOneTime) {
  EXPECT_EQ(OrderOf(1), OrderOf(1));
  EXPECT_NE(OrderOf(1), OrderOf(2));
}

}  // namespace
}  // namespace rowhouse
