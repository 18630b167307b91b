// TokenCounts: how often each token of each column occurs, and where first, in bounded memory: what
// does not fit is spilled as sorted runs, which are merged by sixteens, so that what lies on disk
// stays within a few times the number of different tokens.
//
// Threads: one each. Several that counted parts of the data are merged by ForEachToken.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/status.h"
#include "worker/data/convert/sorted_runs.h"

namespace rowhouse {

struct TokenCount {
  uint64_t key;
  uint64_t count;
  uint64_t first;  // the lowest position that it was added with
};

class TokenCounts {
 public:
  // Files begin with path_prefix.
  TokenCounts(size_t columns, std::string path_prefix, uint64_t memory_bytes);

  // Counts tokens of a column: keys[i] at position first + i. kResourceExhausted for a full disk;
  // after an error every further call returns it.
  Status Add(size_t column, std::span<const uint64_t> keys, uint64_t first);

  // Spills what is in memory and gives it back. Nothing is added after it.
  Status Finish();

  // Calls visit(count) -> Status for each different token of a column of all counts together, in
  // ascending order of Mix64(key). Requires that all have been Finish()ed. May be called for
  // several columns at once.
  using Visit = std::function<Status(const TokenCount&)>;
  static Status ForEachToken(std::span<const std::unique_ptr<TokenCounts>> counts, size_t column,
                             const Visit& visit);

 private:
  // Tokens of a column by open addressing, in the order of Mix64 but for collisions. A slot with
  // count 0 is empty.
  struct Table {
    std::vector<TokenCount> slots;
    uint64_t used = 0;
    unsigned shift = 0;  // of Mix64(key), to find a slot

    void Reset(unsigned bits);
    TokenCount* Find(uint64_t key);
    void Prefetch(uint64_t key) const { __builtin_prefetch(&slots[Mix64(key) >> shift], 1); }
    bool is_full() const { return used * 4 > slots.size() * 3; }
    uint64_t bytes() const { return slots.size() * sizeof(TokenCount); }
  };
  struct Run {
    std::unique_ptr<SpillFile> file;
    std::vector<uint64_t> begins;  // of each column, in records; one more at the end
    uint32_t level = 0;            // times it was merged
  };

  // Makes room in a full table: a larger one, or all tables are spilled.
  Status MakeRoom(size_t column);
  Status Spill();
  Status MergeSixteen();
  std::unique_ptr<SpillFile> NewFile();

  const std::string path_prefix_;
  const uint64_t memory_bytes_;
  std::vector<Table> tables_;
  uint64_t bytes_ = 0;  // of all tables
  std::vector<Run> runs_;
  uint64_t files_ = 0;
  Status status_;  // the first error: the tables are not whole after it
};

}  // namespace rowhouse
