#include "launch/command_line/verb_flags.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "launch/command_line/foreign_flags.h"

namespace rowhouse {
namespace {

constexpr VerbFlag kFlags[] = {
    {kConfigFlag, kTrain | kPs | kPlan | kData,
     "YAML file with model, tables, the schema of own data, and training (see configs/; rowhouse "
     "data "
     "infer writes one); flags given on the command line override it"},
    {kPrintConfigFlag, kTrain | kPs,
     "Print the effective settings as a YAML file for --config, and stop", true},
    {.name = kJsonFlag,
     .verbs = kBench | kCkpt | kCompare | kPlan | kData | kEval,
     .help = "The figures as JSON: --json=FILE writes them to a file beside what is printed; "
             "--json alone, or --json=-, prints them to standard output, and nothing else there",
     .has_optional_value = true},
    {kTraceFlag, kBench,
     "Also measures hit ratios of caches on this trace of ids: text, a number a line, or any form "
     "that plan --trace reads"},
    {kLongFlag, kBench,
     "Measures tier_long with a table of 24 GB, not 2: an hour, and 60 GB of disk. With kinds "
     "and walkthrough: at the size of their originals",
     true},
    {kOutFlag, kCompare | kPlan | kCkpt | kData | kPredict,
     "What the verb makes. compare: the page, HTML; needed unless --json is given. plan: the plan, "
     "for --plan, or the counts, for --access_counts. data convert: the data directory. predict: "
     "the scores, one a line. ckpt export and reshard: a directory. data infer: the config"},
    {kLabelColumnFlag, kData,
     "With data infer: the name of the label's column. Default: one that looks like it"},
    {kCsvFlag, kCompare, "Writes the table to this file as well"},
    {kStrategiesFlag, kCompare,
     "Compares what sharding cost each run (memory, rows, bytes, time), not what the runs learned",
     true},

    {kStepFlag, kPredict | kEval | kCkpt,
     "Which model of model_dir: best, the checkpoint of the best one by validation; last, the one "
     "that the run ended with. Default: best where the run validated (valid_fraction). ckpt: of "
     "export"},
    {kUntrainedFlag, kPredict | kEval | kCkpt,
     "What rows that no step has trained read. initial: their initial value, as in training; zero; "
     "mean: the mean of the table's trained rows. ckpt: of export",
     false, "initial"},
    {kRowsFlag, kPredict | kEval,
     "Where rows are read. memory: tables are read into memory, smallest first, while they fit "
     "rows_memory_mb, and others from disk as needed; disk: all from disk; a directory that "
     "rowhouse ckpt export --stored wrote: from its files, mapped, or with rows_memory_mb read",
     false, "memory"},
    {kRowsMemoryFlag, kPredict | kEval,
     "Memory for tables, MiB. Default: half of the host's. With an export: its tables are not "
     "mapped; "
     "those that fit are read into memory, of others the rows of many samples at a time, in the "
     "order of the files"},
    {kQuantizeMlpFlag, kPredict | kEval,
     "Bits of the weights of the two MLPs. 8: products of 8-bit integers, weights rounded by "
     "output channel, inputs by sample; 16: the nearest f16, multiplied in f32; 32: as trained",
     false, "32"},
    {kGroupByFlag, kEval,
     "A categorical column, such as the user: prints the mean of its ids' AUCs, weighted by their "
     "samples (GAUC)"},
    {kImportanceFlag, kEval,
     "Also prints how much AUC is lost when the values of a column are shuffled among the samples "
     "(permutation importance): the first 200,000 samples are scored once for each column",
     true},
    {kHtmlFlag, kEval,
     "Also writes the figures to this file as a page: ROC and precision-recall curve, calibration "
     "by score, and what importance and group_by add"},
    {kQuantizeRowsFlag, kPredict | kEval | kCkpt,
     "Bits of a number of a row: 16 (f16), 8, 4 or 2 with a scale and a bias of the row, as "
     "torch's quantized::embedding_bag_byte_prepack, _4bit_prepack and _2bit_prepack. Default: 32, "
     "floats; of rows that are mapped, what they were exported in. ckpt: of export"},
    {kFormatFlag, kCkpt, "Of the files of ckpt export: npy (numpy.load) or tsv", false, "npy"},
    {kStoredFlag, kCkpt,
     "ckpt export writes the physical tables as they are stored, not the logical ones as the model "
     "looks them up",
     true},

    {kSizesFlag, kPlan,
     "Prints the bytes of every table, memory and disk of every PS node, and the largest "
     "vocabulary of every kind in memory_mb",
     true},
    {kMemoryMbFlag, kPlan,
     "With sizes: memory to find the largest vocabularies for; MiB, or a size such as 4GB. "
     "Default: cache_mb"},
    {kTouchedRowsFlag, kPlan,
     "With sizes: the rows that count for memory and disk of PS nodes. all; run: those that the "
     "run's samples look up (known of generated data; of a file by --access_counts)",
     false, "all"},
    {kCountIdsFlag, kPlan,
     "Counts how often training looks up each row: reads an epoch of the data, prints the rows "
     "looked up most, and writes the counts to --out",
     true},
    {kMaxSamplesFlag, kPlan | kData,
     "Samples to read, at most. plan: with count_ids, default: all of the epoch; of "
     "trace, default: all. data head: to "
     "print; default: 10"},
    {kMeasuredFlag, kPlan,
     "The --model_dir of a saved model: makes the plan from the lookups that were counted while "
     "it was trained, by skew_aware unless --strategy names another. Default of --config: the "
     "model's own"},
    {kEmbeddingsPerFeatFlag, kPlan,
     "Rows of each table, joined by commas: prints what LoadBalanceManager assigns to num_groups "
     "ranks: groups, offsets, cuts, block widths and bucket sizes. --config has no effect on it"},
    {kNumGroupsFlag, kPlan,
     "With embeddings_per_feat: ranks, 1 to 65536; of more ranks than rows or tables some are "
     "empty",
     false, "4"},
    {kBaseEmbDimFlag, kPlan,
     "With embeddings_per_feat: floats of a row of full width, 1 to 4096; ranks with a smaller "
     "share of all rows get narrower ones",
     false, "128"},
    {kLbmFlag, kPlan,
     "With embeddings_per_feat: fair (contiguous ranges of equal size, which cut tables), shuffle "
     "(whole tables in numpy's random order) or greedy (whole tables, largest first, each to the "
     "rank with the least)",
     false, "fair"},
    {kLbmSeedFlag, kPlan, "With lbm shuffle: seed of numpy's generator", false, "111"},
    {kLbmShuffleCallFlag, kPlan,
     "With lbm shuffle: which of the generator's shuffles, 1 to 1048576; the second manager of a "
     "notebook has number 2",
     false, "1"},
    {kLbmCapacitiesFlag, kPlan,
     "With lbm fair and greedy: what each rank can hold, relative to the others: whole numbers, "
     "joined by commas. Default: all the same"},
};

// Those above, then those of files that declare their own.
std::vector<VerbFlag>& AllFlags() {
  static std::vector<VerbFlag> flags(std::begin(kFlags), std::end(kFlags));
  return flags;
}

bool HasFlag(const Verb& verb, std::string_view flag) {
  if (IsLogFlag(flag)) return true;
  if (const VerbFlag* own = FindVerbFlag(flag, verb.name)) return (own->verbs & verb.bit) != 0;
  const SettingField* field = FindSettingField(flag);
  return field != nullptr && (field->verbs & verb.bit) != 0;
}

}  // namespace

const std::vector<Verb>& Verbs() {
  static const std::vector<Verb> verbs = {
      {"train", kTrain,
       "trains a model: under mpirun some ranks are PS nodes, the others workers; without it, one "
       "of each"},
      {"ps", kPs, "a PS node of its own, which workers find by --ps_endpoints"},
      {.name = "bench",
       .bit = kBench,
       .what =
           "measures parts of the system beside what this machine can do; without a NAME lists the "
           "benchmarks",
       .arguments = "[NAME ... | all]",
       .is_of_lab = true},
      {"ckpt", kCkpt,
       "prints a row, or the sizes of tables and shards, of the saved model in --model_dir, or "
       "verifies that all of it is as it was saved, compacts its rows, exports it for other "
       "programs, or makes one of it for other PS nodes and shards",
       "inspect TABLE TOKEN | stats | verify | compact | export [TABLE ...] | reshard"},
      {"compare", kCompare,
       "prints the runs whose reports are named side by side, and writes a page of them",
       "REPORT.json ..."},
      {"plan", kPlan,
       "which shards own which rows (--strategy, --out); --count_ids: how often rows are looked "
       "up; --sizes: bytes of tables, largest vocabularies; --strategies: what a step would cost "
       "with every plan, and why; --embeddings_per_feat: what LoadBalanceManager assigns; starts "
       "nothing"},
      {"data", kData,
       "looks at data, guesses a configuration from them, and makes the binary form that trains "
       "fastest",
       "convert | info | verify | head | stats | infer | baseline [FILE ...]"},
      {"predict", kPredict,
       "writes a score for each sample of --data, with the saved model in --model_dir"},
      {"eval", kEval, "measures the saved model in --model_dir on the samples of --data"},
      {.name = "soak",
       .bit = kSoak,
       .what =
           "kills processes of runs at random and moves their saves, for --minutes; each run must "
           "end with the rows of an undisturbed one",
       .is_of_lab = true},
      {"completion", kNoVerb, "prints a script that completes flags and values", "bash", true},
  };
  return verbs;
}

const Verb* FindVerb(std::string_view name) {
  const auto found = std::ranges::find(Verbs(), name, &Verb::name);
  return found == Verbs().end() ? nullptr : &*found;
}

bool AddVerbFlag(const VerbFlag& flag) {
  // By name: the linker decides which file comes first.
  std::vector<VerbFlag>& flags = AllFlags();
  const auto declared = std::ranges::subrange(flags.begin() + std::size(kFlags), flags.end());
  flags.insert(std::ranges::upper_bound(declared, flag.name, {}, &VerbFlag::name), flag);
  return true;
}

std::span<const VerbFlag> VerbFlags() { return AllFlags(); }

const VerbFlag* FindVerbFlag(std::string_view name, std::string_view verb) {
  const Verb* const known = FindVerb(verb);
  const VerbFlag* first = nullptr;
  for (const VerbFlag& flag : AllFlags()) {
    if (flag.name != name) continue;
    if (known != nullptr && (flag.verbs & known->bit) != 0) return &flag;
    if (first == nullptr) first = &flag;
  }
  return first;
}

bool IsKnownFlag(std::string_view flag) {
  return FindSettingField(flag) != nullptr || FindDlrmFlag(flag) != nullptr || IsLogFlag(flag) ||
         FindVerbFlag(flag) != nullptr;
}

bool IsSwitch(std::string_view flag, std::string_view verb) {
  if (const DlrmFlag* dlrms = FindDlrmFlag(flag)) return dlrms->is_switch();
  if (const SettingField* field = FindSettingField(flag)) return field->kind == SettingKind::kBool;
  if (const VerbFlag* own = FindVerbFlag(flag, verb)) return own->is_switch;
  return IsLogSwitch(flag);
}

bool VerbHasFlag(std::string_view verb, std::string_view flag) {
  const Verb* known = FindVerb(verb);
  return known != nullptr && HasFlag(*known, flag);
}

std::string DescribeVerbsOfFlag(std::string_view flag) {
  std::vector<std::string> names;
  for (const Verb& verb : Verbs()) {
    if (!verb.is_hidden && HasFlag(verb, flag)) names.push_back(verb.name);
  }
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

std::vector<std::string> FlagsOfVerb(std::string_view verb) {
  std::vector<std::string> names = {"help", "version", "flagfile"};
  const auto add = [&](std::string_view name, std::string_view canonical) {
    const bool is_taken = verb.empty() || VerbHasFlag(verb, canonical);
    if (is_taken && std::ranges::count(names, name) == 0) names.emplace_back(name);
  };
  for (const VerbFlag& flag : VerbFlags()) add(flag.name, flag.name);
  for (const SettingField& field : SettingFields()) {
    add(field.name, field.name);
    for (const std::string& alias : field.aliases) add(alias, field.name);
  }
  for (const std::string_view name : LogFlags()) add(name, name);
  return names;
}

}  // namespace rowhouse
