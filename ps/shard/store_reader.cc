#include "ps/shard/store_reader.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

namespace rowhouse {

uint64_t StoreReader::Read(std::vector<StoreRead> reads, Continuation then) {
  for (StoreRead& read : reads) read.records.resize(read.rows.size() * read.slice.record_bytes);
  const uint64_t ticket = state_.out.TakeTicket();
  writer_.Flush();
  Waiting& waiting = waiting_[ticket];
  waiting.then = std::move(then);
  for (size_t i = 0; i < reads.size() && !writer_.held().empty(); ++i) {
    const StoreSlice& slice = reads[i].slice;
    for (size_t k = 0; k < reads[i].rows.size(); ++k) {
      const std::byte* const record = writer_.held().Find(slice, reads[i].rows[k]);
      if (record != nullptr) {
        waiting.held.push_back({i, k, {record, record + slice.record_bytes}});
      }
    }
  }
  state_.out.Add(ReadRows{.ticket = ticket, .reads = std::move(reads)});
  return ticket;
}

void StoreReader::OnRowsRead(RowsRead event) {
  const auto waiting = waiting_.extract(event.ticket);
  CHECK(!waiting.empty()) << "read " << event.ticket << " ended twice";
  if (!event.status.ok()) state_.Fail(event.status);
  if (state_.has_failed()) return;
  for (const Waiting::Held& held : waiting.mapped().held) {
    StoreRead& read = event.reads[held.read];
    std::ranges::copy(held.record, read.records.begin() + held.row * read.slice.record_bytes);
    const auto missing = std::ranges::lower_bound(read.missing, held.row);
    if (missing != read.missing.end() && *missing == held.row) read.missing.erase(missing);
  }
  waiting.mapped().then(std::move(event.reads));
}

}  // namespace rowhouse
