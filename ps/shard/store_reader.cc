#include "ps/shard/store_reader.h"

#include <glog/logging.h>

#include <utility>

namespace rowhouse {

uint64_t StoreReader::Read(std::vector<StoreRead> reads, Continuation then) {
  for (StoreRead& read : reads) read.records.resize(read.rows.size() * read.slice.record_bytes);
  const uint64_t ticket = state_.out.TakeTicket();
  waiting_.emplace(ticket, std::move(then));
  writer_.Flush();
  state_.out.Add(ReadRows{.ticket = ticket, .reads = std::move(reads)});
  return ticket;
}

void StoreReader::OnRowsRead(RowsRead event) {
  const auto waiting = waiting_.extract(event.ticket);
  CHECK(!waiting.empty()) << "read " << event.ticket << " ended twice";
  if (!event.status.ok()) state_.Fail(event.status);
  if (state_.has_failed()) return;
  waiting.mapped()(std::move(event.reads));
}

}  // namespace rowhouse
