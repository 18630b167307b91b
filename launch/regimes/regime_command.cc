// rowhouse bench regime: what bounds Micro-DLRM and its DRAM sibling on this machine, with the
// evidence in a file that --verify checks.
#include <fmt/format.h>
#include <omp.h>

#include <nlohmann/json.hpp>

#include "common/durable_file.h"
#include "common/json_text.h"
#include "launch/bench/bench_command.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/regimes/regime.h"
#include "launch/regimes/regime_class.h"

namespace rowhouse {
namespace {

constexpr std::string_view kVerifyFlag = "verify";
constexpr std::string_view kTableMbFlag = "table_mb";
constexpr double kCalmSpread = 0.25;  // of the medians of rounds

REGISTER_MEMBER(
    AddVerbFlag(
        {.name = kVerifyFlag,
         .verbs = kBench,
         .help = "With regime: measures nothing, and checks the evidence in this file, which "
                 "regime --json=FILE wrote, against the rules of its classes"}) &&
    AddVerbFlag(
        {.name = kTableMbFlag,
         .verbs = kBench,
         .help = "With regime: MiB of the largest table, 256 to 1953, the original's. Default: "
                 "1953, or a third of the free memory if that is less"}) &&
    AddBenchOption(std::string(kVerifyFlag), "regime") &&
    AddBenchOption(std::string(kTableMbFlag), "regime"));

Result<RegimeEvidence> ReadEvidence(const std::string& file) {
  const Result<std::string> text = ReadFile(file);
  if (!text.ok()) return text.status();
  const Result<nlohmann::json> json = ParseJson(text.value());
  if (json.ok()) return EvidenceFromJson(json.value());
  return UsageError("it {}; rowhouse bench regime --json=FILE writes evidence",
                    json.status().message());
}

Status Verify(const std::string& file) {
  const Result<RegimeEvidence> evidence = ReadEvidence(file);
  // The operator named the file, so any error is the operator's to mend.
  if (!evidence.ok()) {
    return UsageError("--{}={}: {}", kVerifyFlag, file, evidence.status().message());
  }
  const std::vector<std::string> found = Contradictions(evidence.value());
  if (found.empty()) {
    fmt::print("{}: the figures bear out every class\n", file);
    return OkStatus();
  }
  std::string text;
  for (const std::string& one : found) text += (text.empty() ? "" : "\n") + one;
  return MakeStatus(StatusCode::kInternal, "{}: {}", file, text);
}

Status RunRegime(const CommandLine& command_line, const Settings& /*settings*/) {
  if (const std::string file = command_line.Value(kVerifyFlag); !file.empty()) {
    for (const std::string_view flag : {kJsonFlag, kTableMbFlag}) {
      const std::string value = command_line.Value(flag);
      if (value.empty()) continue;
      return UsageError("--{}={} is for a measurement, and --{}={} makes none; leave one out", flag,
                        value, kVerifyFlag, file);
    }
    return Verify(file);
  }
  RegimeOptions options;
  uint64_t mib = options.memory_bytes >> 20;
  // No cache holds the least; the most is the original's.
  RETURN_IF_ERROR(ReadFlag(command_line, kTableMbFlag,
                           WholeValue<uint64_t>(kMinTableBytes >> 20, kOriginalTableBytes >> 20),
                           &mib));
  options.memory_bytes = mib << 20;
  fmt::print(stderr, "bench regime: this takes about 30 s on a machine at rest\n");
  omp_set_num_threads(1);
  ASSIGN_OR_RETURN(const RegimeEvidence evidence, MeasureRegimes(options));
  std::string text = EvidenceText(evidence);
  for (const auto& list : {Contradictions(evidence), ContractMisses(evidence)}) {
    for (const std::string& one : list) text += "\nnote: " + one;
  }
  for (const ConfigEvidence& config : evidence.configs) {
    if (config.step_spread <= kCalmSpread) continue;
    text += fmt::format(
        "\nnote: {} {}: rounds are {:.0f} % apart; measure again when the machine is at rest",
        config.name, config.place, 100 * config.step_spread);
  }
  return DeliverFigures(command_line.Value(kJsonFlag), DumpJson(EvidenceToJson(evidence), 2) + "\n",
                        text + "\n");
}

REGISTER_MEMBER(AddBenchCommand(
    {.name = "regime",
     .note = {.what =
                  "what bounds Micro-DLRM and its DRAM sibling: memory, caches, arithmetic, wire "
                  "or calls (--json=FILE, --verify=FILE)",
              .time = "30 s"},
     .run = &RunRegime}));

}  // namespace
}  // namespace rowhouse
