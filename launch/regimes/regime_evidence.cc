#include "launch/regimes/regime_evidence.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "launch/report/figure_text.h"

namespace rowhouse {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr double kMib = 1024.0 * 1024.0;

Json WidthsToJson(const std::vector<WidthTime>& times) {
  Json list = Json::array();
  for (const WidthTime& time : times) {
    list.push_back({{"width", time.width}, {"step_us", time.step_us}});
  }
  return list;
}

std::vector<WidthTime> WidthsFromJson(const nlohmann::json& list) {
  std::vector<WidthTime> times;
  for (const auto& one : list) {
    times.push_back(
        {.width = one.at("width").get<double>(), .step_us = one.at("step_us").get<double>()});
  }
  return times;
}

Json ConfigToJson(const ConfigEvidence& config) {
  return {{"name", config.name},
          {"place", config.place},
          {"table_bytes", config.table_bytes},
          {"batch", config.batch},
          {"step_us", config.step_us},
          {"one_sample_us", config.one_sample_us},
          {"shares",
           {{"lookups", config.lookups},
            {"mlp", config.mlp},
            {"wire", config.wire},
            {"other", config.other}}},
          {"lookup_gbs", config.lookup_gbs},
          {"by_row_width", WidthsToJson(config.by_row_width)},
          {"by_mlp_width", WidthsToJson(config.by_mlp_width)},
          {"class", config.regime},
          {"why", config.why}};
}

ConfigEvidence ConfigFromJson(const nlohmann::json& json) {
  ConfigEvidence config;
  config.name = json.at("name").get<std::string>();
  config.place = json.at("place").get<std::string>();
  config.table_bytes = json.at("table_bytes").get<uint64_t>();
  config.batch = json.at("batch").get<uint64_t>();
  config.step_us = json.at("step_us").get<double>();
  config.one_sample_us = json.at("one_sample_us").get<double>();
  const nlohmann::json& shares = json.at("shares");
  config.lookups = shares.at("lookups").get<double>();
  config.mlp = shares.at("mlp").get<double>();
  config.wire = shares.at("wire").get<double>();
  config.other = shares.at("other").get<double>();
  config.lookup_gbs = json.at("lookup_gbs").get<double>();
  config.by_row_width = WidthsFromJson(json.at("by_row_width"));
  config.by_mlp_width = WidthsFromJson(json.at("by_mlp_width"));
  config.regime = json.at("class").get<std::string>();
  config.why = json.at("why").get<std::string>();
  return config;
}

std::string ConfigText(const ConfigEvidence& config) {
  std::string text = fmt::format(
      "\n{} {}, batches of {}: {}\n  {}\n  a step takes {:.1f} us{}", config.name, config.place,
      config.batch, config.regime, config.why, config.step_us,
      config.one_sample_us > 0 ? fmt::format(", of one sample {:.1f} us", config.one_sample_us)
                               : "");
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

Json EvidenceToJson(const RegimeEvidence& evidence) {
  Json by_table = Json::array(), configs = Json::array();
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
        "this is no evidence of rowhouse bench regime: \"rowhouse_regimes\" is missing");
  }
  if (json["rowhouse_regimes"] != kFormat) {
    return UsageError("evidence of format {}; this build reads {}", json["rowhouse_regimes"].dump(),
                      kFormat);
  }
  try {
    RegimeEvidence evidence;
    evidence.host = json.at("host").get<std::string>();
    evidence.cpu = json.at("cpu").get<std::string>();
    evidence.cores = json.at("cores").get<uint32_t>();
    evidence.measured_at = json.at("measured_at").get<std::string>();
    evidence.effective_cache_bytes = json.at("effective_cache_bytes").get<uint64_t>();
    for (const auto& one : json.at("lookup_time_by_table")) {
      evidence.by_table.push_back({.bytes = one.at("bytes").get<uint64_t>(),
                                   .ns_per_row = one.at("ns_per_row").get<double>()});
    }
    const nlohmann::json& lookups = json.at("lookups");
    evidence.lookups = {.rows = lookups.at("rows").get<uint64_t>(),
                        .dram_256_ns = lookups.at("dram_256_ns").get<double>(),
                        .cache_256_ns = lookups.at("cache_256_ns").get<double>(),
                        .cache_8_ns = lookups.at("cache_8_ns").get<double>(),
                        .dram_table_bytes = lookups.at("dram_table_bytes").get<uint64_t>(),
                        .call_ns = lookups.at("call_ns").get<double>()};
    for (const auto& one : json.at("configs")) evidence.configs.push_back(ConfigFromJson(one));
    return evidence;
  } catch (const nlohmann::json::exception& error) {
    return UsageError("evidence of regimes: {}", error.what());
  }
}

std::string EvidenceText(const RegimeEvidence& evidence) {
  const LookupFigures& lookups = evidence.lookups;
  std::string text = fmt::format(
      "{}, {} cores; the effective cache is {:.1f} MiB (where the time of a lookup over the size "
      "of "
      "its table has its knee)\n\n  table, MiB   ns a row of 256 floats\n",
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
