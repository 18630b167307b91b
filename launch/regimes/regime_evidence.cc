#include "launch/regimes/regime_evidence.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "common/json_text.h"
#include "launch/figures/figure_text.h"

namespace rowhouse {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr double kMib = 1024.0 * 1024.0;

OrderedJson WidthsToJson(const std::vector<WidthTime>& times) {
  OrderedJson list = OrderedJson::array();
  for (const WidthTime& time : times) {
    list.push_back({{"width", time.width}, {"step_us", time.step_us}});
  }
  return list;
}

OrderedJson ConfigToJson(const ConfigEvidence& config) {
  OrderedJson json = {{"name", config.name},
                      {"place", config.place},
                      {"table_bytes", config.table_bytes},
                      {"batch", config.batch},
                      {"step_us", config.step_us}};
  const auto add = [&json](const char* key, double measured) {
    if (measured > 0) json[key] = measured;
  };
  add("step_spread", config.step_spread);
  add("one_sample_us", config.one_sample_us);
  json["shares"] = {{"lookups", config.lookups},
                    {"mlp", config.mlp},
                    {"wire", config.wire},
                    {"other", config.other}};
  add("lookup_gbs", config.lookup_gbs);
  if (!config.by_row_width.empty()) json["by_row_width"] = WidthsToJson(config.by_row_width);
  if (!config.by_mlp_width.empty()) json["by_mlp_width"] = WidthsToJson(config.by_mlp_width);
  json["class"] = config.regime;
  json["why"] = config.why;
  return json;
}

// An object of the file, and where it stands: "configs[2].shares". A member that is missing or of
// another kind reads as 0, "" or nothing, and `fault` says so; the first one counts.
struct Place {
  const nlohmann::json* json;
  std::string where;  // "": the whole file
  std::string* fault;

  std::string NameOf(const char* key) const { return where.empty() ? key : where + "." + key; }

  // Null if it is not as expected.
  const nlohmann::json* Member(const char* key, bool (nlohmann::json::*is_expected)() const,
                               const char* expected) const {
    const auto found = json->find(key);
    if (found != json->end() && ((*found).*is_expected)()) return &*found;
    if (fault->empty() && found == json->end()) *fault = NameOf(key) + " is missing";
    if (fault->empty()) {
      *fault = fmt::format("{} is {}; expected {}", NameOf(key), ShownJson(*found), expected);
    }
    return nullptr;
  }
  double Number(const char* key) const {
    const auto* const number = Member(key, &nlohmann::json::is_number, "a number");
    return number != nullptr ? number->get<double>() : 0;
  }
  // 0 where it is left out.
  double NumberIfAny(const char* key) const { return json->contains(key) ? Number(key) : 0; }
  uint64_t Count(const char* key) const {
    const auto* const count = Member(key, &nlohmann::json::is_number_unsigned, "a whole number");
    return count != nullptr ? count->get<uint64_t>() : 0;
  }
  std::string Text(const char* key) const {
    const auto* const text = Member(key, &nlohmann::json::is_string, "a text");
    return text != nullptr ? text->get<std::string>() : "";
  }
  Place Object(const char* key) const {
    static const nlohmann::json kNothing = nlohmann::json::object();
    const auto* const object = Member(key, &nlohmann::json::is_object, "an object");
    return {object != nullptr ? object : &kNothing, NameOf(key), fault};
  }
  std::vector<Place> ListIfAny(const char* key) const {
    return json->contains(key) ? List(key) : std::vector<Place>();
  }
  // Its objects.
  std::vector<Place> List(const char* key) const {
    std::vector<Place> list;
    const auto* const array = Member(key, &nlohmann::json::is_array, "a list");
    for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
      const Place one{&(*array)[i], fmt::format("{}[{}]", NameOf(key), i), fault};
      if (one.json->is_object()) {
        list.push_back(one);
      } else if (fault->empty()) {
        *fault = fmt::format("{} is {}; expected an object", one.where, ShownJson(*one.json));
      }
    }
    return list;
  }
};

std::vector<WidthTime> WidthsOf(const std::vector<Place>& list) {
  std::vector<WidthTime> times;
  for (const Place& one : list) {
    times.push_back({.width = one.Number("width"), .step_us = one.Number("step_us")});
  }
  return times;
}

ConfigEvidence ConfigOf(const Place& json) {
  const Place shares = json.Object("shares");
  return {.name = json.Text("name"),
          .place = json.Text("place"),
          .table_bytes = json.Count("table_bytes"),
          .batch = json.Count("batch"),
          .step_us = json.Number("step_us"),
          .step_spread = json.NumberIfAny("step_spread"),
          .one_sample_us = json.NumberIfAny("one_sample_us"),
          .lookups = shares.Number("lookups"),
          .mlp = shares.Number("mlp"),
          .wire = shares.Number("wire"),
          .other = shares.Number("other"),
          .lookup_gbs = json.NumberIfAny("lookup_gbs"),
          .by_row_width = WidthsOf(json.ListIfAny("by_row_width")),
          .by_mlp_width = WidthsOf(json.ListIfAny("by_mlp_width")),
          .regime = json.Text("class"),
          .why = json.Text("why")};
}

RegimeEvidence EvidenceAt(const Place& json) {
  RegimeEvidence evidence{.host = json.Text("host"),
                          .cpu = json.Text("cpu"),
                          .measured_at = json.Text("measured_at"),
                          .cores = static_cast<uint32_t>(json.Count("cores")),
                          .effective_cache_bytes = json.Count("effective_cache_bytes")};
  for (const Place& one : json.List("lookup_time_by_table")) {
    evidence.by_table.push_back(
        {.bytes = one.Count("bytes"), .ns_per_row = one.Number("ns_per_row")});
  }
  const Place lookups = json.Object("lookups");
  evidence.lookups = {.rows = lookups.Count("rows"),
                      .dram_256_ns = lookups.Number("dram_256_ns"),
                      .cache_256_ns = lookups.Number("cache_256_ns"),
                      .cache_8_ns = lookups.Number("cache_8_ns"),
                      .dram_table_bytes = lookups.Count("dram_table_bytes"),
                      .call_ns = lookups.Number("call_ns")};
  for (const Place& one : json.List("configs")) evidence.configs.push_back(ConfigOf(one));
  return evidence;
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
  switch (regime) {
    case Regime::kDram:
      return "DRAM-bound";
    case Regime::kCache:
      return "cache-bound";
    case Regime::kCompute:
      return "compute-bound";
    case Regime::kWire:
      return "wire-bound";
    case Regime::kCall:
      return "call-bound";
    case Regime::kMixed:
      break;
  }
  return "mixed";
}

OrderedJson EvidenceToJson(const RegimeEvidence& evidence) {
  OrderedJson by_table = OrderedJson::array(), configs = OrderedJson::array();
  for (const TableTime& time : evidence.by_table) {
    by_table.push_back({{"bytes", time.bytes}, {"ns_per_row", time.ns_per_row}});
  }
  for (const ConfigEvidence& config : evidence.configs) configs.push_back(ConfigToJson(config));
  const LookupFigures& lookups = evidence.lookups;
  return {{"rowhouse_regimes", kFormat},
          {"host", evidence.host},
          {"cpu", evidence.cpu},
          {"cores", evidence.cores},
          {"measured_at", evidence.measured_at},
          {"effective_cache_bytes", evidence.effective_cache_bytes},
          {"lookup_time_by_table", by_table},
          {"lookups",
           {{"rows", lookups.rows},
            {"dram_256_ns", lookups.dram_256_ns},
            {"cache_256_ns", lookups.cache_256_ns},
            {"cache_8_ns", lookups.cache_8_ns},
            {"dram_table_bytes", lookups.dram_table_bytes},
            {"ratio_256_to_256", lookups.ratio_256_to_256()},
            {"ratio_256_to_8", lookups.ratio_256_to_8()},
            {"dram_gbs", lookups.dram_gbs()},
            {"cache_gbs", lookups.cache_gbs()},
            {"call_ns", lookups.call_ns}}},
          {"configs", configs}};
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
  RegimeEvidence evidence = EvidenceAt(Place{&json, "", &fault});
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

}  // namespace rowhouse
