#include "launch/profile/run_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "common/json_text.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

// A phase, or a group of phases: their sum.
struct Line {
  std::string name;
  PhaseTotal total;
  std::vector<PhaseKind> kinds;  // of the phase; empty: a group
  std::vector<Line> parts;
};

void AddTo(const PhaseTotal& other, PhaseTotal* total) {
  total->ns += other.ns;
  total->times += other.times;
}

// Groups in the order of their first phases, without those that took no time.
std::vector<Line> LinesOf(const PhaseRecord& record) {
  std::vector<Line> lines;
  for (size_t p = 0; p < record.kinds.size(); ++p) {
    const PhaseTotal& total = record.totals[p];
    const std::string group = GroupOfPhase(record.kinds[p].name);
    auto line = std::ranges::find(lines, group, &Line::name);
    if (line == lines.end()) line = lines.insert(lines.end(), {.name = group});
    if (total.ns == 0) continue;
    AddTo(total, &line->total);
    line->parts.push_back(
        {.name = record.kinds[p].name, .total = total, .kinds = {record.kinds[p]}});
  }
  std::erase_if(lines, [](const Line& line) { return line.total.ns == 0; });
  for (Line& line : lines) {
    for (const Line& part : line.parts) {
      for (size_t a = 0; a < 2; ++a) {
        // The amounts of parts are not those of the whole, but where one part is all.
        if (line.parts.size() == 1 || part.name == line.name) {
          line.total.amounts[a] += part.total.amounts[a];
        }
      }
    }
    if (line.parts.size() == 1 && line.parts[0].name == line.name) {
      line.kinds = line.parts[0].kinds;
      line.parts.clear();
    }
  }
  return lines;
}

struct Scale {
  double steps = 1, samples = 1, rows = 1;
  uint64_t all_ns = 1;
};

double Over(double value, double by) { return by > 0 ? value / by : 0.0; }

// Rows of the phase itself where it counted them, else those the rank pulled.
double RowsOf(const Line& line, const Scale& scale) {
  for (const PhaseKind& kind : line.kinds) {
    if (kind.amounts[0] == "rows" && line.total.amounts[0] > 0) {
      return static_cast<double>(line.total.amounts[0]);
    }
  }
  return scale.rows;
}

std::string LineText(const Line& line, const std::string& name, const Scale& scale) {
  const auto ns = static_cast<double>(line.total.ns);
  return fmt::format("  {:<34}{:>10.4f}{:>8.1f} %{:>12.1f}{:>10.2f}{:>10}\n", name,
                     Over(ns, scale.steps) * 1e-6, 100.0 * ns / static_cast<double>(scale.all_ns),
                     Over(ns, scale.samples), Over(ns, RowsOf(line, scale)), line.total.times);
}

uint64_t NsOf(const std::vector<Line>& lines) {
  uint64_t ns = 0;
  for (const Line& line : lines) ns += line.total.ns;
  return ns;
}

std::string ThreadText(const ThreadRecord& thread, Scale scale) {
  const std::vector<Line> lines = LinesOf(thread.record);
  scale.all_ns = NsOf(lines);
  if (scale.all_ns == 0) return "";
  std::string text = fmt::format("  {:<34}{:>10}{:>10}{:>12}{:>10}{:>10}\n", thread.thread,
                                 "ms/step", "share", "ns/sample", "ns/row", "times");
  for (const Line& line : lines) {
    text += LineText(line, line.name, scale);
    for (const Line& part : line.parts) {
      const bool is_rest = part.name == line.name;
      text += LineText(part, "  " + (is_rest ? "(rest)" : part.name.substr(line.name.size() + 1)),
                       scale);
    }
  }
  if (thread.record.dropped_spans > 0) {
    text += fmt::format("  {} spans in the middle of the run were not kept; sums have them all\n",
                        CountText(static_cast<double>(thread.record.dropped_spans)));
  }
  return text;
}

std::string MessagesText(FigureTable table) {
  constexpr size_t kMaxShown = 16;
  if (table.rows.empty()) return "";
  const size_t left_out = table.rows.size() - std::min(table.rows.size(), kMaxShown);
  table.rows.resize(table.rows.size() - left_out);
  Figures figures;
  figures.Add(std::move(table));
  if (left_out > 0) figures.Say("{} others take less\n", left_out);
  return FiguresAsText(figures);
}

// Of the ranks of one process, with what no part accounts for.
std::vector<MemoryPart> MemoryOf(const RunProfile& profile, const RankProfile& rank) {
  std::vector<MemoryPart> parts = rank.memory;
  uint64_t known = 0;
  for (const RankProfile& other : profile.ranks) {
    if (other.host != rank.host || other.pid != rank.pid) continue;
    for (const MemoryPart& part : other.memory) known += part.bytes;
  }
  if (rank.process_peak_bytes > 0) {
    parts.push_back({.name = "not attributed",
                     .bytes = rank.process_peak_bytes - std::min(known, rank.process_peak_bytes)});
  }
  return parts;
}

std::string MemoryText(const RunProfile& profile, const RankProfile& rank) {
  constexpr double kMib = 1024.0 * 1024.0;
  std::string text = "  memory at its peak, MiB:";
  for (const MemoryPart& part : MemoryOf(profile, rank)) {
    text += fmt::format(" {} {:.1f},", part.name, static_cast<double>(part.bytes) / kMib);
  }
  return text + (rank.process_peak_bytes == 0
                     ? " process not known\n"
                     : fmt::format(" process {:.1f}\n",
                                   static_cast<double>(rank.process_peak_bytes) / kMib));
}

std::string ClockText(const RankProfile& rank) {
  if (rank.clock_error == 0) return "";
  return fmt::format("; its clock is {:.1f} us ahead, known to {:.1f} us",
                     static_cast<double>(rank.clock_offset) * 1e-3,
                     static_cast<double>(rank.clock_error) * 1e-3);
}

// What the phase counted, and its sizes.
void AddAmounts(const PhaseKind& kind, const auto& amounts, OrderedJson* json) {
  for (size_t a = 0; a < 2; ++a) {
    if (!kind.amounts[a].empty()) (*json)[kind.amounts[a]] = amounts[a];
  }
  for (const auto& [name, size] : kind.sizes) (*json)[name] = size;
}

OrderedJson PhaseToJson(const Line& line, const Scale& scale) {
  const auto ns = static_cast<double>(line.total.ns);
  OrderedJson json = {{"name", line.name},
                      {"ms_per_step", Over(ns, scale.steps) * 1e-6},
                      {"share", Over(ns, static_cast<double>(scale.all_ns))},
                      {"times", line.total.times},
                      {"ns_per_sample", Over(ns, scale.samples)},
                      {"ns_per_row", Over(ns, RowsOf(line, scale))}};
  for (const PhaseKind& kind : line.kinds) AddAmounts(kind, line.total.amounts, &json);
  return json;
}

OrderedJson ThreadToJson(const ThreadRecord& thread, Scale scale) {
  const std::vector<Line> lines = LinesOf(thread.record);
  scale.all_ns = NsOf(lines);
  OrderedJson phases = OrderedJson::array();
  for (const Line& line : lines) {
    phases.push_back(PhaseToJson(line, scale));
    for (const Line& part : line.parts) {
      if (part.name != line.name) phases.push_back(PhaseToJson(part, scale));
    }
  }
  return {{"name", thread.thread},
          {"seconds", static_cast<double>(scale.all_ns) * 1e-9},
          {"dropped_spans", thread.record.dropped_spans},
          {"phases", phases}};
}

Scale ScaleOf(const RunProfile& profile, const RankProfile& rank) {
  return {.steps = static_cast<double>(profile.steps), .samples = rank.samples, .rows = rank.rows};
}

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
        DumpJson(other), text_);
  }

 private:
  void AddEvent(const OrderedJson& event) {
    if (!text_.empty()) text_ += ",\n";
    text_ += DumpJson(event);
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
    AddAmounts(kind, span.amounts, &args);
    return args;
  }

  const RunProfile& profile_;
  size_t most_spans_ = 0;  // of each thread: the first and the last
  TimeNs begin_ = std::numeric_limits<TimeNs>::max();
  std::string text_;
};

}  // namespace

RankProfile RankOfShard(std::string name, std::string host, ProfileReply reply) {
  RankProfile rank{.name = std::move(name),
                   .host = std::move(host),
                   .pid = reply.pid,
                   .threads = std::move(reply.threads),
                   .memory = std::move(reply.memory),
                   .process_peak_bytes = reply.process_peak_bytes,
                   .messages = std::move(reply.messages)};
  for (const ThreadRecord& thread : rank.threads) {
    for (size_t p = 0; p < thread.record.kinds.size(); ++p) {
      if (thread.record.kinds[p].name != "gather") continue;
      rank.rows += static_cast<double>(thread.record.totals[p].amounts[0]);
    }
  }
  return rank;
}

std::string ProfileText(const RunProfile& profile) {
  std::string text = fmt::format("profile of {} steps, {} samples\n",
                                 CountText(static_cast<double>(profile.steps)),
                                 CountText(static_cast<double>(profile.samples)));
  for (const RankProfile& rank : profile.ranks) {
    text += fmt::format("\n{} on {}: {} samples, {} rows pulled{}\n", rank.name, rank.host,
                        CountText(rank.samples), CountText(rank.rows), ClockText(rank));
    for (const ThreadRecord& thread : rank.threads) {
      text += ThreadText(thread, ScaleOf(profile, rank));
    }
    text += MessagesText(MessagesTable(profile, rank));
    text += MemoryText(profile, rank);
  }
  return text;
}

OrderedJson ProfileToJson(const RunProfile& profile) {
  OrderedJson ranks = OrderedJson::array();
  for (const RankProfile& rank : profile.ranks) {
    OrderedJson threads = OrderedJson::array(), memory = OrderedJson::array();
    for (const ThreadRecord& thread : rank.threads) {
      threads.push_back(ThreadToJson(thread, ScaleOf(profile, rank)));
    }
    for (const MemoryPart& part : MemoryOf(profile, rank)) {
      memory.push_back({{"name", part.name}, {"bytes", part.bytes}});
    }
    ranks.push_back({{"name", rank.name},
                     {"host", rank.host},
                     {"kind", rank.is_worker ? "worker" : "shard"},
                     {"clock_offset_us", static_cast<double>(rank.clock_offset) * 1e-3},
                     {"clock_error_us", static_cast<double>(rank.clock_error) * 1e-3},
                     {"rows_pulled", rank.rows},
                     {"samples", rank.samples},
                     {"threads", threads},
                     {"messages", TableAsJson(MessagesTable(profile, rank))},
                     {"memory", memory},
                     {"process_peak_bytes", rank.process_peak_bytes == 0
                                                ? OrderedJson(nullptr)
                                                : OrderedJson(rank.process_peak_bytes)}});
  }
  return {{"rowhouse_profile", 1},
          {"steps", profile.steps},
          {"samples", profile.samples},
          {"ranks", ranks}};
}

std::string TraceText(const RunProfile& profile) { return TraceWriter(profile).Text(); }

std::vector<MessageWays> WaysOf(const RunProfile& profile, const RankProfile& rank) {
  std::vector<MessageWays> ways;
  if (!rank.is_worker) return ways;
  const auto worker = static_cast<uint32_t>(&rank - profile.ranks.data());
  std::unordered_map<uint64_t, const MessageTimes*> sent;
  for (const MessageTimes& one : rank.messages) sent.emplace(one.request_id, &one);
  for (const RankProfile& shard : profile.ranks) {
    if (shard.is_worker) continue;
    MessageWays kinds[] = {{.shard = shard.name, .is_push = false},
                           {.shard = shard.name, .is_push = true}};
    // From the shard's clock to the worker's.
    const TimeNs shift = rank.clock_offset - shard.clock_offset;
    for (const MessageTimes& there : shard.messages) {
      const auto here = sent.find(there.request_id);
      if (there.worker != worker || here == sent.end()) continue;
      const TimeNs left = here->second->begin, taken = there.begin + shift;
      const TimeNs behind =
          std::clamp<TimeNs>(there.ready + shift - left, 0, std::max<TimeNs>(taken - left, 0));
      MessageWays& kind = kinds[there.is_push != 0 ? 1 : 0];
      ++kind.messages;
      kind.behind += static_cast<double>(behind);
      kind.going += static_cast<double>(taken - left - behind);
      kind.served += static_cast<double>(there.end - there.begin);
      kind.coming += static_cast<double>(here->second->end - (there.end + shift));
    }
    for (MessageWays& kind : kinds) {
      if (kind.messages == 0) continue;
      for (double* const way : {&kind.behind, &kind.going, &kind.served, &kind.coming}) {
        *way /= static_cast<double>(kind.messages);
      }
      ways.push_back(std::move(kind));
    }
  }
  return ways;
}

FigureTable MessagesTable(const RunProfile& profile, const RankProfile& rank) {
  constexpr size_t kMany = 16;
  FigureTable table{.columns = {{"kind", "messages"},
                                {"shard", "shard"},
                                {"number", "number", &CountText},
                                {"behind_us", "behind us", &FixedText<1>},
                                {"going_us", "going us", &FixedText<1>},
                                {"served_us", "served us", &FixedText<1>},
                                {"coming_us", "coming us", &FixedText<1>}}};
  std::vector<MessageWays> all = WaysOf(profile, rank);
  if (all.size() > kMany) std::ranges::sort(all, std::greater(), &MessageWays::all);
  for (const MessageWays& ways : all) {
    table.rows.push_back({ways.is_push ? "push" : "pull", ways.shard, ways.messages,
                          ways.behind * 1e-3, ways.going * 1e-3, ways.served * 1e-3,
                          ways.coming * 1e-3});
  }
  return table;
}

}  // namespace rowhouse
