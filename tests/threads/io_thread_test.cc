// The I/O thread with an executor that finds no room for a while.
#include "ps/shard/io_thread.h"

#include <atomic>
#include <future>

#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

const Status kFull(StatusCode::kResourceExhausted, "the disk is full");

std::vector<ShardEvent> EventOf(uint64_t ticket, const Status& status) {
  std::vector<ShardEvent> events;
  events.push_back(RowsWritten{ticket, status});
  return events;
}

TEST(IoThreadThreads, TriesAgainInOrderUntilThereIsRoom) {
  std::atomic<int> failures = 2;
  std::vector<uint64_t> carried_out;  // on the I/O thread
  std::vector<std::string> told;      // likewise
  std::promise<void> all;
  {
    IoThread io(
        "io", /*max_batch=*/2,
        [&](std::span<ShardAction> actions) {
          const uint64_t ticket = std::get<WriteRows>(actions.front()).ticket;
          if (ticket == 2 && failures-- > 0) return EventOf(ticket, kFull);
          carried_out.push_back(ticket);
          return EventOf(ticket, OkStatus());
        },
        [&](ShardEvent event) {
          if (std::holds_alternative<StoreBlocked>(event)) told.push_back("blocked");
          if (std::holds_alternative<StoreUnblocked>(event)) told.push_back("unblocked");
          if (const auto* written = std::get_if<RowsWritten>(&event)) {
            EXPECT_OK(written->status);
            told.push_back(std::to_string(written->ticket));
            if (written->ticket == 3) all.set_value();
          }
        });
    for (uint64_t ticket = 1; ticket <= 3; ++ticket)
      io.Submit(WriteRows{.ticket = ticket, .writes = {}});
    all.get_future().wait();
  }
  EXPECT_EQ(carried_out, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_THAT(told, testing::ElementsAre("1", "blocked", "blocked", "unblocked", "2", "3"));
}

TEST(IoThreadThreads, DoesNotTryAgainWhatBelongsToASave) {
  std::vector<StatusCode> told;  // on the I/O thread
  {
    IoThread io(
        "io", /*max_batch=*/1,
        [&](std::span<ShardAction> actions) {
          const auto& write = std::get<WriteDelta>(actions.front());
          std::vector<ShardEvent> events;
          events.push_back(DeltaWritten{write.ticket, write.ticket == 1 ? kFull : OkStatus()});
          return events;
        },
        [&](const ShardEvent& event) {
          told.push_back(std::get<DeltaWritten>(event).status.code());
        });
    for (const uint64_t ticket : {1, 2}) io.Submit(WriteDelta{.ticket = ticket, .writes = {}});
  }
  EXPECT_THAT(told, testing::ElementsAre(StatusCode::kResourceExhausted, StatusCode::kOk));
}

TEST(IoThreadThreads, SaysWhetherTheStoreOrTheLogIsBlocked) {
  const auto told_of = [](ShardAction action, const auto& event_of) {
    std::vector<Blocked> told;  // on the I/O thread
    std::promise<void> done;
    {
      bool is_full = true;  // likewise
      IoThread io(
          "io", 1,
          [&](std::span<ShardAction>) {
            std::vector<ShardEvent> events;
            events.push_back(event_of(std::exchange(is_full, false) ? kFull : OkStatus()));
            return events;
          },
          [&](const ShardEvent& event) {
            if (const auto* blocked = std::get_if<StoreBlocked>(&event)) {
              told.push_back(blocked->what);
            } else if (const auto* unblocked = std::get_if<StoreUnblocked>(&event)) {
              told.push_back(unblocked->what);
            } else {
              done.set_value();
            }
          });
      io.Submit(std::move(action));
      done.get_future().wait();
    }
    return told;
  };
  EXPECT_THAT(told_of(SyncStore{},
                      [](Status status) {
                        return StoreSynced{0, status};
                      }),
              testing::ElementsAre(Blocked::kStore, Blocked::kStore));
  EXPECT_THAT(told_of(AppendLog{},
                      [](Status status) {
                        return LogAppended{0, status, 0};
                      }),
              testing::ElementsAre(Blocked::kLog, Blocked::kLog));
}

// A log that has filled its disk: what would free some of it was submitted after the push that
// finds none, in the same batch or later.
TEST(IoThreadThreads, WhatMakesRoomGoesBeforeWhatWaitsForIt) {
  for (const bool is_later : {false, true}) {
    bool is_full = true;            // on the I/O thread
    bool is_told = false;           // likewise
    std::vector<std::string> told;  // likewise
    std::promise<void> submitted, blocked, all;
    {
      IoThread io(
          "log", /*max_batch=*/64,
          [&](std::span<ShardAction> actions) {
            std::vector<ShardEvent> events;
            if (const auto* append = std::get_if<AppendLog>(&actions.front())) {
              if (append->ticket == 0) submitted.get_future().wait();
              const bool fits = append->ticket == 0 || !is_full;
              events.push_back(LogAppended{append->ticket, fits ? OkStatus() : kFull, 0});
            } else {
              is_full = false;
              events.push_back(LogTruncated{OkStatus()});
            }
            return events;
          },
          [&](const ShardEvent& event) {
            if (std::holds_alternative<StoreBlocked>(event)) {
              if (!std::exchange(is_told, true)) blocked.set_value();
            } else if (std::holds_alternative<LogTruncated>(event)) {
              told.push_back("truncated");
            } else if (const auto* appended = std::get_if<LogAppended>(&event)) {
              EXPECT_OK(appended->status);
              told.push_back(std::to_string(appended->ticket));
              if (appended->ticket == 2) all.set_value();
            }
          });
      for (uint64_t ticket = 0; ticket <= 2; ++ticket) {
        io.Submit(AppendLog{.ticket = ticket, .push = nullptr});
      }
      if (is_later) {
        submitted.set_value();
        blocked.get_future().wait();
      }
      io.Submit(TruncateLog{.low_water = 1});
      if (!is_later) submitted.set_value();
      all.get_future().wait();
    }
    EXPECT_TRUE(is_told);
    EXPECT_THAT(told, testing::ElementsAre("0", "truncated", "1", "2")) << is_later;
  }
}

TEST(IoThreadThreads, GivesUpWhenItIsToEnd) {
  std::promise<void> blocked;
  std::atomic<bool> is_told = false;
  std::vector<Status> ended;
  {
    IoThread io(
        "io", 1,
        [](std::span<ShardAction> actions) {
          return EventOf(std::get<WriteRows>(actions.front()).ticket, kFull);
        },
        [&](ShardEvent event) {
          if (std::holds_alternative<StoreBlocked>(event) && !is_told.exchange(true)) {
            blocked.set_value();
          }
          if (const auto* written = std::get_if<RowsWritten>(&event))
            ended.push_back(written->status);
        });
    io.Submit(WriteRows{.ticket = 1, .writes = {}});
    blocked.get_future().wait();
  }
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace rowhouse
