#include "worker/data/convert/token_counts.h"

#include <algorithm>
#include <utility>

#include "common/random.h"

namespace rowhouse {
namespace {

constexpr unsigned kSmallestTableBits = 6;
constexpr size_t kMergedRuns = 16;
constexpr size_t kBufferRecords = 2048;  // 48 KiB

bool IsBefore(const TokenCount& a, const TokenCount& b) { return Mix64(a.key) < Mix64(b.key); }

// Adds up the counts of equal keys, which follow each other.
template <typename Visit>
Status VisitMerged(std::vector<RunReader<TokenCount>> readers, const Visit& visit) {
  TokenCount current = {0, 0, 0};
  RETURN_IF_ERROR(MergeRuns(std::move(readers), IsBefore, [&](const TokenCount& next) {
    if (current.count > 0 && current.key == next.key) {
      current.count += next.count;
      current.first = std::min(current.first, next.first);
      return OkStatus();
    }
    const TokenCount done = std::exchange(current, next);
    return done.count > 0 ? visit(done) : OkStatus();
  }));
  return current.count > 0 ? visit(current) : OkStatus();
}

}  // namespace

void TokenCounts::Table::Reset(unsigned bits) {
  std::vector<TokenCount>(size_t{1} << bits, TokenCount{0, 0, 0}).swap(slots);
  shift = 64 - bits;
  used = 0;
}

TokenCount* TokenCounts::Table::Find(uint64_t key) {
  const size_t mask = slots.size() - 1;
  size_t at = Mix64(key) >> shift;
  while (slots[at].count != 0 && slots[at].key != key) at = (at + 1) & mask;
  return &slots[at];
}

TokenCounts::TokenCounts(size_t columns, std::string path_prefix, uint64_t memory_bytes)
    : path_prefix_(std::move(path_prefix)), memory_bytes_(memory_bytes), tables_(columns) {
  for (Table& table : tables_) {
    table.Reset(kSmallestTableBits);
    bytes_ += table.bytes();
  }
}

Status TokenCounts::Add(size_t column, std::span<const uint64_t> keys, uint64_t first) {
  RETURN_IF_ERROR(status_);
  constexpr size_t kAhead = 16;
  Table& table = tables_[column];
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) table.Prefetch(keys[i + kAhead]);
    const uint64_t key = keys[i];
    TokenCount* slot = table.Find(key);
    if (slot->count == 0) {
      if (table.is_full()) {
        status_ = MakeRoom(column);
        RETURN_IF_ERROR(status_);
        slot = table.Find(key);
      }
      *slot = {key, 0, first};
      ++table.used;
    }
    ++slot->count;
    ++first;
  }
  return OkStatus();
}

Status TokenCounts::MakeRoom(size_t column) {
  Table& table = tables_[column];
  // While tokens move, the old table and the new one are there.
  if (bytes_ + 2 * table.bytes() > memory_bytes_) return Spill();
  const std::vector<TokenCount> old = std::move(table.slots);
  table.Reset(64 - table.shift + 1);
  for (const TokenCount& slot : old) {
    if (slot.count == 0) continue;
    *table.Find(slot.key) = slot;
    ++table.used;
  }
  bytes_ += table.bytes() / 2;
  return OkStatus();
}

std::unique_ptr<SpillFile> TokenCounts::NewFile() {
  return std::make_unique<SpillFile>(fmt::format("{}-{}", path_prefix_, files_++));
}

Status TokenCounts::Spill() {
  Run run;
  run.file = NewFile();
  run.begins = {0};
  bytes_ = 0;
  for (Table& table : tables_) {
    std::erase_if(table.slots, [](const TokenCount& slot) { return slot.count == 0; });
    std::sort(table.slots.begin(), table.slots.end(), IsBefore);
    RETURN_IF_ERROR(run.file->Append(table.slots.data(), table.bytes()));
    run.begins.push_back(run.begins.back() + table.slots.size());
    table.Reset(kSmallestTableBits);
    bytes_ += table.bytes();
  }
  runs_.push_back(std::move(run));
  while (runs_.size() >= kMergedRuns &&
         runs_[runs_.size() - kMergedRuns].level == runs_.back().level) {
    RETURN_IF_ERROR(MergeSixteen());
  }
  return OkStatus();
}

// Makes one run of the last sixteen.
Status TokenCounts::MergeSixteen() {
  const size_t begin = runs_.size() - kMergedRuns;
  Run merged;
  merged.file = NewFile();
  merged.level = runs_.back().level + 1;
  merged.begins = {0};
  std::vector<TokenCount> buffer;
  const auto flush = [&] {
    const Status status = merged.file->Append(buffer.data(), buffer.size() * sizeof(TokenCount));
    buffer.clear();
    return status;
  };
  for (size_t column = 0; column < tables_.size(); ++column) {
    std::vector<RunReader<TokenCount>> readers;
    for (size_t run = begin; run < runs_.size(); ++run) {
      const std::vector<uint64_t>& begins = runs_[run].begins;
      readers.emplace_back(runs_[run].file.get(), begins[column],
                           begins[column + 1] - begins[column], kBufferRecords);
    }
    uint64_t tokens = 0;
    RETURN_IF_ERROR(VisitMerged(std::move(readers), [&](const TokenCount& count) {
      buffer.push_back(count);
      ++tokens;
      return buffer.size() < kBufferRecords ? OkStatus() : flush();
    }));
    merged.begins.push_back(merged.begins.back() + tokens);
  }
  RETURN_IF_ERROR(flush());
  runs_.resize(begin);
  runs_.push_back(std::move(merged));
  return OkStatus();
}

Status TokenCounts::Finish() {
  RETURN_IF_ERROR(Spill());
  for (Table& table : tables_) std::vector<TokenCount>().swap(table.slots);
  return OkStatus();
}

Status TokenCounts::ForEachToken(std::span<const std::unique_ptr<TokenCounts>> counts,
                                 size_t column, const Visit& visit) {
  std::vector<RunReader<TokenCount>> readers;
  for (const auto& part : counts) {
    for (const Run& run : part->runs_) {
      const uint64_t begin = run.begins[column], end = run.begins[column + 1];
      if (begin < end) readers.emplace_back(run.file.get(), begin, end - begin, kBufferRecords);
    }
  }
  return VisitMerged(std::move(readers), visit);
}

}  // namespace rowhouse
