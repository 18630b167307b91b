#include "launch/regimes/regime_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr double kMib = 1024.0 * 1024.0;

// Both ways between evidence and its file are one list of members (Transfer): a JsonWriter or a
// JsonReader is called with each.
class JsonWriter {
 public:
  explicit JsonWriter(OrderedJson* json) : json_(*json) {}

  template <typename T>
  void Member(const char* key, const T& value) {
    json_[key] = value;
  }
  // Left out if it is 0.
  void IfAny(const char* key, double value) {
    if (value > 0) json_[key] = value;
  }
  // Follows from other members.
  void Derived(const char* key, double value) { json_[key] = value; }
  template <typename Use>
  void Object(const char* key, const Use& use) {
    JsonWriter object(&json_[key]);
    use(object);
  }
  template <typename T>
  void List(const char* key, std::vector<T>& list) {
    json_[key] = OrderedJson::array();
    for (T& one : list) {
      JsonWriter object(&json_[key].emplace_back());
      Transfer(object, one);
    }
  }
  template <typename T>
  void ListIfAny(const char* key, std::vector<T>& list) {
    if (!list.empty()) List(key, list);
  }

 private:
  OrderedJson& json_;
};

// A member that is missing or of another kind leaves the value as it is, and `fault` names it with
// its place, "configs[2].shares"; the first one counts.
class JsonReader {
 public:
  JsonReader(const nlohmann::json& json, std::string where, std::string* fault)
      : json_(json), where_(std::move(where)), fault_(*fault) {}

  void Member(const char* key, double& value) {
    Read(key, &nlohmann::json::is_number, "a number", &value);
  }
  void Member(const char* key, std::string& value) {
    Read(key, &nlohmann::json::is_string, "a text", &value);
  }
  template <typename T>
  void Member(const char* key, T& value) {
    Read(key, &nlohmann::json::is_number_unsigned, "a whole number", &value);
  }
  void IfAny(const char* key, double& value) {
    if (json_.contains(key)) Member(key, value);
  }
  void Derived(const char*, double) {}
  template <typename Use>
  void Object(const char* key, const Use& use) {
    const auto* const found = Find(key, &nlohmann::json::is_object, "an object");
    if (found == nullptr) return;
    JsonReader object(*found, NameOf(key), &fault_);
    use(object);
  }
  template <typename T>
  void List(const char* key, std::vector<T>& list) {
    const auto* const array = Find(key, &nlohmann::json::is_array, "a list");
    for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
      const std::string where = fmt::format("{}[{}]", NameOf(key), i);
      if (!(*array)[i].is_object()) return Refuse(where, (*array)[i], "an object");
      JsonReader object((*array)[i], where, &fault_);
      Transfer(object, list.emplace_back());
    }
  }
  template <typename T>
  void ListIfAny(const char* key, std::vector<T>& list) {
    if (json_.contains(key)) List(key, list);
  }

 private:
  using Is = bool (nlohmann::json::*)() const noexcept;

  std::string NameOf(const char* key) const { return where_.empty() ? key : where_ + "." + key; }
  void Refuse(const std::string& where, const nlohmann::json& found, const char* expected) {
    if (!fault_.empty()) return;
    fault_ = fmt::format("{} is {}; expected {}", where, ShownJson(found), expected);
  }
  // Null if it is not as expected.
  const nlohmann::json* Find(const char* key, Is is_expected, const char* expected) {
    const auto found = json_.find(key);
    if (found == json_.end()) {
      if (fault_.empty()) fault_ = NameOf(key) + " is missing";
    } else if (((*found).*is_expected)()) {
      return &*found;
    } else {
      Refuse(NameOf(key), *found, expected);
    }
    return nullptr;
  }
  template <typename T>
  void Read(const char* key, Is is_expected, const char* expected, T* value) {
    const auto* const found = Find(key, is_expected, expected);
    if (found != nullptr) *value = found->get<T>();
  }

  const nlohmann::json& json_;
  const std::string where_;  // "": the whole file
  std::string& fault_;
};

template <typename Io>
void Transfer(Io& io, TableTime& time) {
  io.Member("bytes", time.bytes);
  io.Member("ns_per_row", time.ns_per_row);
}

template <typename Io>
void Transfer(Io& io, WidthTime& time) {
  io.Member("width", time.width);
  io.Member("step_us", time.step_us);
}

template <typename Io>
void Transfer(Io& io, LookupFigures& lookups) {
  io.Member("rows", lookups.rows);
  io.Member("dram_256_ns", lookups.dram_256_ns);
  io.Member("cache_256_ns", lookups.cache_256_ns);
  io.Member("cache_8_ns", lookups.cache_8_ns);
  io.Member("dram_table_bytes", lookups.dram_table_bytes);
  io.Derived("ratio_256_to_256", lookups.ratio_256_to_256());
  io.Derived("ratio_256_to_8", lookups.ratio_256_to_8());
  io.Derived("dram_gbs", lookups.dram_gbs());
  io.Derived("cache_gbs", lookups.cache_gbs());
  io.Member("call_ns", lookups.call_ns);
}

template <typename Io>
void Transfer(Io& io, ConfigEvidence& config) {
  io.Member("name", config.name);
  io.Member("place", config.place);
  io.Member("table_bytes", config.table_bytes);
  io.Member("batch", config.batch);
  io.Member("step_us", config.step_us);
  io.IfAny("step_spread", config.step_spread);
  io.IfAny("one_sample_us", config.one_sample_us);
  io.Object("shares", [&](Io& shares) {
    shares.Member("lookups", config.lookups);
    shares.Member("mlp", config.mlp);
    shares.Member("wire", config.wire);
    shares.Member("other", config.other);
  });
  io.IfAny("lookup_gbs", config.lookup_gbs);
  io.ListIfAny("by_row_width", config.by_row_width);
  io.ListIfAny("by_mlp_width", config.by_mlp_width);
  io.Member("class", config.regime);
  io.Member("why", config.why);
}

template <typename Io>
void Transfer(Io& io, RegimeEvidence& evidence) {
  io.Member("host", evidence.host);
  io.Member("cpu", evidence.cpu);
  io.Member("cores", evidence.cores);
  io.Member("measured_at", evidence.measured_at);
  io.Member("effective_cache_bytes", evidence.effective_cache_bytes);
  io.List("lookup_time_by_table", evidence.by_table);
  io.Object("lookups", [&](Io& lookups) { Transfer(lookups, evidence.lookups); });
  io.List("configs", evidence.configs);
}

std::string ConfigText(const ConfigEvidence& config) {
  std::string text =
      fmt::format("\n{} {}, batches of {}: {}\n  {}\n  a step takes {:.1f} us", config.name,
                  config.place, config.batch, config.regime, config.why, config.step_us);
  if (config.step_spread > 0) {
    text += fmt::format(" (rounds {:.0f} % apart)", 100 * config.step_spread);
  }
  if (config.one_sample_us > 0)
    text += fmt::format(", of one sample {:.1f} us", config.one_sample_us);
  if (config.lookup_gbs > 0) {
    text +=
        fmt::format("; rows of lookups {:.2f} GB/s, ids and gradients included", config.lookup_gbs);
  }
  const auto add = [&text](const char* what, const std::vector<WidthTime>& times) {
    if (times.empty()) return;
    text += fmt::format("\n  {}:", what);
    for (const WidthTime& time : times)
      text += fmt::format("  {:g}: {:.1f}", time.width, time.step_us);
  };
  add("us a step by floats of a row", config.by_row_width);
  add("us a step by widths of hidden layers, times the original's", config.by_mlp_width);
  return text + "\n";
}

}  // namespace

std::string RegimeName(Regime regime) {
  constexpr const char* kNames[] = {"DRAM-bound", "cache-bound", "compute-bound",
                                    "wire-bound", "call-bound",  "mixed"};
  return kNames[static_cast<size_t>(regime)];
}

OrderedJson EvidenceToJson(RegimeEvidence evidence) {
  OrderedJson json = {{"rowhouse_regimes", kFormat}};
  JsonWriter writer(&json);
  Transfer(writer, evidence);
  return json;
}

Result<RegimeEvidence> EvidenceFromJson(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("rowhouse_regimes")) {
    return UsageError(
        "no evidence of regimes: \"rowhouse_regimes\" is missing; rowhouse bench regime "
        "--json=FILE writes such a file");
  }
  if (json["rowhouse_regimes"] != kFormat) {
    return UsageError("evidence of format {}; this build reads {}",
                      ShownJson(json["rowhouse_regimes"]), kFormat);
  }
  std::string fault;
  RegimeEvidence evidence;
  JsonReader reader(json, "", &fault);
  Transfer(reader, evidence);
  if (!fault.empty()) return UsageError("evidence of regimes: {}", fault);
  return evidence;
}

std::string EvidenceText(const RegimeEvidence& evidence) {
  const LookupFigures& lookups = evidence.lookups;
  std::string text = fmt::format(
      "{}, {} cores; the effective cache is {:.1f} MiB (where the time of a lookup over the size "
      "of its table has its knee)\n\n  table, MiB   ns a row of 256 floats\n",
      evidence.cpu, evidence.cores, static_cast<double>(evidence.effective_cache_bytes) / kMib);
  for (const TableTime& time : evidence.by_table) {
    text += fmt::format("  {:>10.2f}   {:>8.2f}\n", static_cast<double>(time.bytes) / kMib,
                        time.ns_per_row);
  }
  text += fmt::format(
      "\nlookups alone, {} rows a call, one thread:\n"
      "  256 floats from memory (a table of {:.0f} MiB): {:.1f} ns a row, {:.2f} GB/s\n"
      "  256 floats from the cache (1682 rows):       {:.1f} ns a row, {:.2f} GB/s\n"
      "  8 floats from the cache (1682 rows):         {:.1f} ns a row\n"
      "  from memory {:.1f} times slower at 256 floats on both sides; 256 against 8 floats, the "
      "original's way: {:.1f}\n"
      "  a call without rows takes {:.0f} ns\n",
      CountText(static_cast<double>(lookups.rows)),
      static_cast<double>(lookups.dram_table_bytes) / kMib, lookups.dram_256_ns, lookups.dram_gbs(),
      lookups.cache_256_ns, lookups.cache_gbs(), lookups.cache_8_ns, lookups.ratio_256_to_256(),
      lookups.ratio_256_to_8(), lookups.call_ns);
  for (const ConfigEvidence& config : evidence.configs) text += ConfigText(config);
  return text;
}

// ---- The rules ----------------------------------------------------------------------------------

namespace {

double Percent(double share) { return 100.0 * share; }

bool IsDram(const ConfigEvidence& config, uint64_t cache) {
  const std::optional<double> growth = GrowthOf(config.by_mlp_width);
  return growth && std::abs(*growth) <= kFlatGrowth && config.lookups > kDramShare &&
         static_cast<double>(config.table_bytes) >= kDramTables * static_cast<double>(cache) &&
         LinearFitOf(config.by_row_width) >= kLinearFit;
}

std::string Shares(const ConfigEvidence& config) {
  return fmt::format("lookups {:.0f} %, MLPs {:.0f} %, wire {:.0f} %, other {:.0f} % of the step",
                     Percent(config.lookups), Percent(config.mlp), Percent(config.wire),
                     Percent(config.other));
}

// Of what was measured only.
std::string Sweeps(const ConfigEvidence& config) {
  const std::optional<double> growth = GrowthOf(config.by_mlp_width);
  if (config.by_row_width.size() < 3 || !growth) return "other widths were not measured";
  return fmt::format(
      "time over row width fits a line to R^2 {:.3f}, and grows {:.0f} % with MLPs twice as wide",
      LinearFitOf(config.by_row_width), Percent(*growth));
}

std::vector<std::string> FaultsOf(const ConfigEvidence& config) {
  std::vector<std::string> found;
  const double sum = config.lookups + config.mlp + config.wire + config.other;
  const double least = std::min({config.lookups, config.mlp, config.wire, config.other});
  if (!(least >= 0) || !(std::abs(sum - 1) <= kShareTolerance)) {
    found.push_back(fmt::format("{} {}: its shares make up {:.0f} % of a step: {}", config.name,
                                config.place, Percent(sum), Shares(config)));
  }
  if (!(config.step_us > 0)) {
    found.push_back(
        fmt::format("{} {}: a step of {} us", config.name, config.place, config.step_us));
  }
  // Row widths are those of the model and others: its own time is among theirs.
  const auto is_like = [&](const WidthTime& time) {
    return time.step_us <= config.step_us * kSameStep && time.step_us >= config.step_us / kSameStep;
  };
  const auto once = std::ranges::find(config.by_mlp_width, 1.0, &WidthTime::width);
  const bool rows_fit =
      config.by_row_width.empty() || std::ranges::any_of(config.by_row_width, is_like);
  if (!rows_fit || (once != config.by_mlp_width.end() && !is_like(*once))) {
    found.push_back(fmt::format("{} {}: a step takes {:.1f} us, and none such is among its {}",
                                config.name, config.place, config.step_us,
                                rows_fit ? "widths of hidden layers" : "widths of rows"));
  }
  return found;
}

}  // namespace

uint64_t KneeOf(std::span<const TableTime> times) {
  if (times.size() < 2) return 0;
  double least = times[0].ns_per_row;
  for (const TableTime& time : times) least = std::min(least, time.ns_per_row);
  const double most = times.back().ns_per_row;
  if (most < 1.3 * least) return 0;
  const double middle = std::sqrt(least * most);
  for (size_t i = times.size() - 1; i-- > 0;) {
    const TableTime& below = times[i];
    const TableTime& above = times[i + 1];
    if (below.ns_per_row > middle || above.ns_per_row <= middle) continue;
    const double part =
        std::log(middle / below.ns_per_row) / std::log(above.ns_per_row / below.ns_per_row);
    const auto from = static_cast<double>(below.bytes), to = static_cast<double>(above.bytes);
    return static_cast<uint64_t>(from * std::pow(to / from, part));
  }
  return 0;
}

double LinearFitOf(std::span<const WidthTime> times) {
  if (times.size() < 3) return 0.0;
  const auto n = static_cast<double>(times.size());
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (const WidthTime& time : times) {
    x += time.width;
    y += time.step_us;
    xx += time.width * time.width;
    xy += time.width * time.step_us;
    yy += time.step_us * time.step_us;
  }
  const double covariance = xy - x * y / n;
  const double of_x = xx - x * x / n, of_y = yy - y * y / n;
  // Less time for wider rows is no such line.
  if (of_x <= 0 || of_y <= 0 || covariance <= 0) return 0.0;
  return covariance * covariance / (of_x * of_y);
}

std::optional<double> GrowthOf(std::span<const WidthTime> times) {
  const auto once = std::ranges::find(times, 1.0, &WidthTime::width);
  const auto twice = std::ranges::find(times, 2.0, &WidthTime::width);
  if (once == times.end() || twice == times.end() || once->step_us <= 0) {
    return std::nullopt;
  }
  return twice->step_us / once->step_us - 1.0;
}

RegimeClass ClassOf(const ConfigEvidence& config, uint64_t effective_cache_bytes) {
  const std::string shares = Shares(config);
  const double calls = config.step_us > 0 ? config.one_sample_us / config.step_us : 0.0;
  const double tables = static_cast<double>(config.table_bytes) /
                        static_cast<double>(std::max<uint64_t>(effective_cache_bytes, 1));
  if (config.wire > kWireShare) return {Regime::kWire, shares};
  if (calls > kCallShare) {
    return {Regime::kCall,
            fmt::format("a step of one sample takes {:.0f} % as long; {}", Percent(calls), shares)};
  }
  const std::string sweeps = Sweeps(config);
  const std::string table = fmt::format("the table is {:.2g} times the cache", tables);
  if (IsDram(config, effective_cache_bytes)) {
    return {Regime::kDram, fmt::format("{}; {}; {}", shares, table, sweeps)};
  }
  if (config.mlp > kComputeShare) return {Regime::kCompute, shares};
  if (config.lookups > kCacheShare && tables <= 1.0) {
    return {Regime::kCache, fmt::format("{}; {}", shares, table)};
  }
  return {Regime::kMixed, fmt::format("{}; {}; {}", shares, table, sweeps)};
}

std::vector<std::string> Contradictions(const RegimeEvidence& evidence) {
  std::vector<std::string> found;
  const double ratio = evidence.lookups.ratio_256_to_256();
  if (!std::isfinite(ratio) || ratio < kLookupRatio) {
    found.push_back(fmt::format(
        "lookups of 256 floats are {:.1f} times slower from memory than from the cache; {:.0f} "
        "belong to the experiment: enlarge the table",
        ratio, kLookupRatio));
  }
  const auto knee = static_cast<double>(KneeOf(evidence.by_table));
  const auto cache = static_cast<double>(evidence.effective_cache_bytes);
  if (knee <= 0 || std::abs(cache - knee) > 0.01 * knee) {
    found.push_back(fmt::format(
        "the effective cache is stated to be {} bytes, and the times over table size have {}",
        evidence.effective_cache_bytes,
        knee > 0 ? fmt::format("their knee at {:.0f}", knee) : "no knee"));
  }
  if (evidence.configs.empty()) found.push_back("no model was measured");
  for (const ConfigEvidence& config : evidence.configs) {
    for (std::string& fault : FaultsOf(config)) found.push_back(std::move(fault));
    const RegimeClass is = ClassOf(config, evidence.effective_cache_bytes);
    if (RegimeName(is.regime) != config.regime) {
      found.push_back(fmt::format("{} {} is stated to be {}, and its figures say {}: {}",
                                  config.name, config.place, config.regime, RegimeName(is.regime),
                                  is.why));
    }
  }
  return found;
}

std::vector<std::string> ContractMisses(const RegimeEvidence& evidence) {
  std::vector<std::string> found;
  for (const ConfigEvidence& config : evidence.configs) {
    if (config.place != "in process") continue;
    const RegimeClass is = ClassOf(config, evidence.effective_cache_bytes);
    const auto expect = [&](const char* name, Regime regime) {
      if (config.name != name || is.regime == regime) return;
      found.push_back(fmt::format("the original's contract says that {} is {}; here it is {}", name,
                                  RegimeName(regime), RegimeName(is.regime)));
    };
    expect("micro_dlrm", Regime::kCompute);
    expect("micro_dlrm_dram", Regime::kDram);
  }
  return found;
}

}  // namespace rowhouse
