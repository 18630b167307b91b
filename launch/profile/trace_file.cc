#include "launch/profile/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "common/json_text.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Of all threads together, so that viewers can open the file of a run of any size.
constexpr size_t kMaxSlices = 1'000'000;

// What a thread does when it has nothing to do is left blank.
bool IsIdle(const RankProfile& rank, const std::string& phase) {
  return !rank.is_worker && (phase == "wait" || phase == "idle");
}

class TraceWriter {
 public:
  explicit TraceWriter(const RunProfile& profile) : profile_(profile) {
    size_t threads = 0;
    for (const RankProfile& rank : profile.ranks) {
      threads += rank.threads.size();
      for (const ThreadRecord& thread : rank.threads) {
        for (const PhaseSpan& span : thread.record.spans) {
          begin_ = std::min(begin_, span.begin - rank.clock_offset);
        }
      }
    }
    most_spans_ = kMaxSlices / std::max<size_t>(threads, 1);
  }

  std::string Text() {
    TimeNs error = 0;
    for (size_t r = 0; r < profile_.ranks.size(); ++r) {
      AddRank(profile_.ranks[r], r + 1);
      error = std::max(error, profile_.ranks[r].clock_error);
    }
    const std::string clock =
        error == 0 ? "all ranks share one clock"
                   : fmt::format("that of {}; others are known to {:.1f} us",
                                 profile_.ranks.front().name, static_cast<double>(error) * 1e-3);
    const OrderedJson other = {{"rowhouse_profile", 1}, {"clock", clock}};
    return fmt::format(
        "{{\"displayTimeUnit\": \"ns\", \"otherData\": {},\n\"traceEvents\": [\n{}\n]}}\n",
        Dumped(other), text_);
  }

 private:
  static std::string Dumped(const OrderedJson& json) { return DumpJson(json); }

  void AddEvent(const OrderedJson& event) {
    if (!text_.empty()) text_ += ",\n";
    text_ += Dumped(event);
  }

  void AddName(const char* what, size_t pid, size_t tid, const std::string& name) {
    AddEvent({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}});
  }

  void AddRank(const RankProfile& rank, size_t pid) {
    AddName("process_name", pid, 0, fmt::format("{} on {}", rank.name, rank.host));
    for (size_t t = 0; t < rank.threads.size(); ++t) {
      AddName("thread_name", pid, t + 1, rank.threads[t].thread);
      AddThread(rank, rank.threads[t].record, pid, t + 1);
    }
  }

  // Microseconds with all nanoseconds.
  static double Us(TimeNs ns) { return static_cast<double>(ns) * 1e-3; }

  struct Track {
    const RankProfile& rank;
    size_t pid, tid;
  };

  void AddSlice(const Track& track, const char* cat, const std::string& name, TimeNs begin,
                TimeNs end, OrderedJson args) {
    AddEvent({{"ph", "X"},
              {"cat", cat},
              {"name", name},
              {"pid", track.pid},
              {"tid", track.tid},
              {"ts", Us(begin - track.rank.clock_offset - begin_)},
              {"dur", Us(end - begin)},
              {"args", std::move(args)}});
  }

  void AddThread(const RankProfile& rank, const PhaseRecord& record, size_t pid, size_t tid) {
    const Track track = {rank, pid, tid};
    const std::vector<PhaseSpan>& spans = record.spans;
    const auto name_of = [&](const PhaseSpan& span) { return record.kinds[span.phase].name; };
    for (size_t i = 0; i < spans.size(); ++i) {
      if (i == most_spans_ / 2 && spans.size() > most_spans_) i = spans.size() - most_spans_ / 2;
      const PhaseSpan& span = spans[i];
      const std::string& name = name_of(span);
      if (IsIdle(rank, name)) continue;
      const bool is_between = name == "between steps";
      if (rank.is_worker && !is_between &&
          (i == 0 || spans[i - 1].step != span.step || name_of(spans[i - 1]) == "between steps")) {
        size_t last = i;
        while (last + 1 < spans.size() && spans[last + 1].step == span.step &&
               name_of(spans[last + 1]) != "between steps") {
          ++last;
        }
        AddSlice(track, "step", fmt::format("step {}", span.step), span.begin, spans[last].end,
                 {{"step", span.step}});
      }
      AddGroup(track, record, i);
      AddSlice(track, "phase", name, span.begin, span.end, ArgsOf(record.kinds[span.phase], span));
    }
  }

  // If span i is the first of a group of several: the slice around them.
  void AddGroup(const Track& track, const PhaseRecord& record, size_t i) {
    const std::vector<PhaseSpan>& spans = record.spans;
    const auto group_of = [&](size_t at) {
      return GroupOfPhase(record.kinds[spans[at].phase].name);
    };
    const auto joins = [&](size_t at) {
      return spans[at].step == spans[at - 1].step && spans[at].begin == spans[at - 1].end &&
             group_of(at) == group_of(at - 1);
    };
    if (i > 0 && joins(i)) return;
    size_t last = i;
    while (last + 1 < spans.size() && joins(last + 1)) ++last;
    if (last == i) return;
    AddSlice(track, "group", group_of(i), spans[i].begin, spans[last].end,
             {{"step", spans[i].step}});
  }

  static OrderedJson ArgsOf(const PhaseKind& kind, const PhaseSpan& span) {
    OrderedJson args = {{"step", span.step}};
    for (size_t a = 0; a < 2; ++a) {
      if (!kind.amounts[a].empty()) args[kind.amounts[a]] = span.amounts[a];
    }
    for (const auto& [name, size] : kind.sizes) args[name] = size;
    return args;
  }

  const RunProfile& profile_;
  size_t most_spans_ = 0;  // of each thread: the first and the last
  TimeNs begin_ = std::numeric_limits<TimeNs>::max();
  std::string text_;
};

}  // namespace

std::string TraceText(const RunProfile& profile) { return TraceWriter(profile).Text(); }

}  // namespace rowhouse
