#include "sharding/lab/simulator/ps_queues.h"

#include <glog/logging.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace rowhouse {

PsQueues::PsQueues(const StepWork& work, const RankSpeed& speed, HostLinks& links, HostCores& cores)
    : work_(work),
      speed_(speed),
      links_(links),
      cores_(cores),
      asked_(work.hosts),
      free_ms_(work.ps.size()),
      queued_(work.ps.size()),
      slowness_(work.ps.size(), 1.0),
      stored_ms_(work.ps.size()),
      stored_before_ms_(work.ps.size()),
      applied_ms_(work.ps.size()),
      totals_(work.ps.size()) {
  for (uint32_t host = 0; host < work.hosts; ++host) {
    for (size_t p = 0; p < work.ps.size(); ++p) {
      if (work.host_of_ps[p] == host) continue;
      asked_[host].pull_request += work.ps[p].pull_request_bytes;
      asked_[host].pull_reply += work.ps[p].pull_reply_bytes;
      asked_[host].push += work.ps[p].push_bytes;
    }
  }
}

void PsQueues::DrawSpeeds(uint64_t step) {
  if (speeds_of_step_ != UINT64_MAX && step <= speeds_of_step_) return;
  speeds_of_step_ = step;
  for (uint32_t p = 0; p < slowness_.size(); ++p) slowness_[p] = speed_.Jitter(p, step, 0);
}

double PsQueues::Serve(uint32_t node, const Arrival& arrival, double ms, double load) {
  // Parts are served as they come: the last one ends no earlier than it has come, and none keeps
  // the node from serving others while it is on its way.
  const double ready_ms = std::max(arrival.first_ms, arrival.last_ms - ms);
  const double begin_ms = std::max(ready_ms, free_ms_[node]);
  PsTotals& totals = totals_[node];
  totals.wait_ms += begin_ms - ready_ms;
  totals.busy_ms += ms;
  free_ms_[node] = cores_.RunShard(work_.host_of_ps[node], begin_ms, ms, work_.shards * load);
  if (ms > 0) Queue(node, ready_ms, free_ms_[node]);
  return free_ms_[node];
}

void PsQueues::Queue(uint32_t node, double ready_ms, double end_ms) {
  std::deque<double>& queued = queued_[node];
  while (!queued.empty() && queued.front() <= ready_ms) queued.pop_front();
  queued.push_back(end_ms);
  totals_[node].longest_queue =
      std::max(totals_[node].longest_queue, static_cast<double>(queued.size()));
}

double PsQueues::Pull(uint32_t host, double start_ms, uint64_t step) {
  DCHECK_EQ(step, applied_steps_);
  DrawSpeeds(step);
  ++requests_;
  const Asked& asked = asked_[host];
  const double sent_ms = links_.Send(host, start_ms, asked.pull_request);
  const double first_ms = sent_ms - links_.Ms(asked.pull_request) + links_.delay_ms();
  double first_reply_ms = std::numeric_limits<double>::infinity();
  double done_ms = start_ms;
  for (uint32_t p = 0; p < work_.ps.size(); ++p) {
    const PsWork& node = work_.ps[p];
    const uint32_t at = work_.host_of_ps[p];
    const double ms = node.pull_ms * slowness_[p];
    Arrival arrival{.first_ms = start_ms, .last_ms = start_ms};
    if (at != host) {
      const double received_ms = links_.Receive(at, first_ms, node.pull_request_bytes);
      arrival = {.first_ms = first_ms,
                 .last_ms = std::max(sent_ms + links_.delay_ms(), received_ms)};
    }
    arrival.first_ms = std::max({arrival.first_ms, applied_ms_[p], stored_before_ms_[p]});
    double end_ms = Serve(p, arrival, ms, work_.answer_load);
    if (at != host) {
      const double reply_ms = links_.Ms(node.pull_reply_bytes);
      end_ms = std::max(end_ms,
                        links_.Send(at, end_ms - std::min(ms, reply_ms), node.pull_reply_bytes)) +
               links_.delay_ms();
      first_reply_ms = std::min(first_reply_ms, end_ms - reply_ms);
    }
    done_ms = std::max(done_ms, end_ms);
  }
  if (asked.pull_reply == 0) return done_ms;
  return std::max(done_ms, links_.Receive(host, first_reply_ms, asked.pull_reply));
}

double PsQueues::Push(uint32_t host, double start_ms, uint64_t step) {
  DrawSpeeds(step);
  ++requests_;
  const Asked& asked = asked_[host];
  const double sent_ms = links_.Send(host, start_ms, asked.push);
  const double first_ms = sent_ms - links_.Ms(asked.push) + links_.delay_ms();
  double done_ms = start_ms;
  for (uint32_t p = 0; p < work_.ps.size(); ++p) {
    const PsWork& node = work_.ps[p];
    const uint32_t at = work_.host_of_ps[p];
    Arrival arrival{.first_ms = start_ms, .last_ms = start_ms};
    double back_ms = 0;
    if (at != host) {
      const double received_ms = links_.Receive(at, first_ms, node.push_bytes);
      arrival = {.first_ms = first_ms,
                 .last_ms = std::max(sent_ms + links_.delay_ms(), received_ms)};
      back_ms = links_.delay_ms();
    }
    done_ms = std::max(
        done_ms, Serve(p, arrival, node.push_ms * slowness_[p], work_.exchange_load) + back_ms);
  }
  if (++pushes_ == work_.workers) {
    pushes_ = 0;
    Apply(step);
  }
  return done_ms;
}

void PsQueues::Apply(uint64_t step) {
  CHECK_EQ(step, applied_steps_);
  applied_steps_ = step + 1;
  for (uint32_t p = 0; p < work_.ps.size(); ++p) {
    const double ms = work_.ps[p].apply_ms * slowness_[p];
    totals_[p].busy_ms += ms;
    free_ms_[p] = cores_.RunShard(work_.host_of_ps[p], free_ms_[p], ms, work_.shards);
    applied_ms_[p] = free_ms_[p];
    Store(p);
  }
}

void PsQueues::Store(uint32_t node) {
  const PsWork& work = work_.ps[node];
  const uint32_t host = work_.host_of_ps[node];
  // Beside what comes next, and for the same cores.
  if (work.store_ms > 0) {
    const double ms = work.store_ms * slowness_[node];
    const double begin_ms = std::max(stored_ms_[node], free_ms_[node]);
    const double end_ms =
        std::max(begin_ms + ms, cores_.RunWorker(host, free_ms_[node], ms, work_.shards));
    stored_before_ms_[node] = std::exchange(stored_ms_[node], end_ms);
  }
  if (work.merge_ms > 0) {
    cores_.RunWorker(host, free_ms_[node], work.merge_ms * slowness_[node], work_.shards);
  }
}

}  // namespace rowhouse
