// Settings of the data. Names and defaults of DLRM's flags are DLRM's.
#include <algorithm>

#include "launch/settings/setting_list.h"
#include "worker/data/dataset.h"

namespace rowhouse {
namespace {

using enum Digest;

// The registered sources; "dataset" is DLRM's name of the one called criteo.
std::vector<std::string> SourceNames() {
  std::vector<std::string> names = Datasets().Names();
  std::replace(names.begin(), names.end(), std::string("criteo"), std::string("dataset"));
  return names;
}

// A flag that a source declares (DatasetDeclaration::flags). Config digests list settings in the
// order in which they are added here.
void AddFlag(SettingList& list, const std::string& name, Digest digest) {
  const std::vector<DeclaredOption> flags = DatasetFlags();
  const auto flag = std::ranges::find(flags, name, &DeclaredOption::name);
  CHECK(flag != flags.end()) << name;
  const PickOptions pick = [](Settings& s) -> OptionValues& { return s.data.flags; };
  list.Add(Declared(*flag, pick, "data.flags"),
           {.name = name, .help = flag->help(), .digest = digest});
}

void AddSource(SettingList& list) {
  list.Add(
      Choice(MEMBER(data_generation), SourceNames()),
      {.help = "Where samples come from. random: DLRM's generator; dataset: the file --data, "
               "which implies it; criteo_binary: MLPerf's 160-byte records; delimited, libsvm, "
               "movielens: text of these forms; converted: a data directory; synthetic: ids of a "
               "Zipf distribution with planted effects. Default: with --data what it is, or else "
               "random",
       .digest = kOfRun,
       .is_basic = true});
  list.Add(Text(MEMBER(data.file), "paths and globs, joined by commas"),
           {.name = "data",
            .help = "The data: text files (plain, gzip or zstd), one after the other, as section "
                    "schema says, or Criteo's if there is none; or a data directory that rowhouse "
                    "data convert made",
            .aliases = {"raw_data_file"},
            .is_basic = true});
  AddFlag(list, "data_set", kOfRun);
  list.Add(Real(MEMBER(data.held_out.test_fraction), "a number from 0 to below 1", IsBelowOne),
           {.help = "With data that are read: the share of samples held out for testing, as "
                    "test_split says",
            .unit = "fraction",
            .digest = kOfRun,
            .is_basic = true});
  list.Add(Choice(MEMBER(data.held_out.test_split), {"tail", "random", "dlrm"}),
           {.help = "Which samples test_fraction holds out. tail: the last ones; random: drawn by "
                    "numpy_rand_seed; dlrm: half of the last day, as DLRM does (test_fraction has "
                    "no effect)",
            .digest = kOfRun});
  list.Add(Real(MEMBER(data.held_out.valid_fraction), "a number from 0 to below 1", IsBelowOne),
           {.help = "With data that are read: the share of the samples left to train on that "
                    "validate the model instead, the last ones in the order of the data. The model "
                    "is then validated every test_freq steps instead of tested, and the best one "
                    "is kept as a checkpoint",
            .unit = "fraction",
            .digest = kOfRun});
  list.Add(Text(MEMBER(data.held_out.test_file), "paths and globs, joined by commas"),
           {.name = "test_data",
            .help = "Samples to test on, in place of a part of --data",
            .is_basic = true});
  list.Add(Text(MEMBER(data.held_out.split_index), "a file"),
           {.help = "A text file that says of each sample of --data which part it is of, in place "
                    "of test_fraction and valid_fraction: a line is train, valid, test or none, "
                    "for one sample, or for as many as a number behind it says (train 1000)",
            .digest = kOfRun});
  list.Add(Text(MEMBER(data.text.cache), "a directory"),
           {.name = "data_cache",
            .help = "With text: directory, on each host, where the binary form that runs make of "
                    "it is kept for later runs of the same files. Default: a temporary directory "
                    "under TMPDIR, which goes with the run",
            .verbs = kTrain});
  list.Add(
      Whole(MEMBER(data.text.max_bad_lines), 0),
      {.help = "With text: lines that cannot be read and are left out, at most", .is_basic = true});
}

void AddIdsAndOrder(SettingList& list) {
  list.Add(Switch(MEMBER(data.text.grow_dictionaries)),
           {.help = "With --load and text, or data convert --model_dir: tokens that the model's "
                    "dictionaries lack, and that occur min_count times in these data, get the next "
                    "rows that their tables have free. Otherwise they stay rare",
            .verbs = kTrain | kData});
  AddFlag(list, "id_mapping", kIn);
  AddFlag(list, "max_ind_range", kIn);
  list.Add(Choice(MEMBER(data.randomize), {"total", "none", "day", "blocks"}),
           {.name = "data_randomize",
            .help = "With data that are read: the order of train samples. total: one permutation "
                    "of all; none: that of the files; day: file after file, each permuted; blocks: "
                    "blocks in random order, samples shuffled within each, differently in every "
                    "epoch",
            .digest = kOfRun});
}

void AddSizes(SettingList& list) {
  list.Add(
      Whole(MEMBER(data.data_size), 1),
      {.help = "With random and synthetic: train samples", .digest = kOfRun, .is_basic = true});
  list.Add(Whole(MEMBER(data.num_batches), 0),
           {.help = "Train batches of an epoch: with random instead of data_size, with other data "
                    "as an earlier end of the epoch; 0: off",
            .digest = kOfRun});
}

// What one source reads alone.
void AddOthers(SettingList& list) {
  for (const DeclaredOption& flag : DatasetFlags()) {
    if (!list.Has(flag.name())) AddFlag(list, flag.name(), kOfRun);
  }
  AddDeclared(
      list, Datasets(), [](Settings& s) -> OptionValues& { return s.data.own; }, "data.own",
      kOfRun);
}

REGISTER_MEMBER(RegisterSettings(Section::kData, {AddSource, AddIdsAndOrder, AddSizes, AddOthers}));

}  // namespace
}  // namespace rowhouse
