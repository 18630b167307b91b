// Settings of the data. Names and defaults of DLRM's flags are DLRM's.
#include "launch/settings/declared_settings.h"
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

void AddSource(SettingList& list) {
  list.Add(
      Choice(MEMBER(data_generation), SourceNames()),
      {.name = "data_generation",
       .help = "Where samples come from. random: DLRM's generator; dataset: the file --data, "
               "which implies it; delimited, libsvm, movielens: text of these forms; converted: "
               "a data directory; synthetic: ids of a Zipf distribution with planted effects. "
               "Default: with --data what it is, or else random",
       .digest = kOfRun,
       .is_basic = true});
  list.Add(Text(MEMBER(data.file), "paths and globs, joined by commas"),
           {.name = "data",
            .help = "The data: text files (plain, gzip or zstd), one after the other, as section "
                    "schema says, or Criteo's if there is none; or a data directory that rowhouse "
                    "data convert made",
            .aliases = {"raw_data_file"},
            .is_basic = true});
  list.Add(Choice(MEMBER(data.data_set), {"kaggle", "terabyte"}),
           {.name = "data_set",
            .help = "With dataset: DLRM's flag. Both read the files that --data names; "
                    "--data=day stands for day_0, day_1, ..., as many as there are, where no file "
                    "has just this name",
            .digest = kOfRun});
  list.Add(Real(MEMBER(data.test_fraction), "a number from 0 to below 1", IsBelowOne),
           {.name = "test_fraction",
            .help = "With data that are read: the share of samples held out for testing, as "
                    "test_split says",
            .unit = "fraction",
            .digest = kOfRun,
            .is_basic = true});
  list.Add(Choice(MEMBER(data.test_split), {"tail", "random", "dlrm"}),
           {.name = "test_split",
            .help = "Which samples test_fraction holds out. tail: the last ones; random: drawn by "
                    "numpy_rand_seed; dlrm: half of the last day, as DLRM does (test_fraction has "
                    "no effect)",
            .digest = kOfRun});
  list.Add(Text(MEMBER(data.test_file), "paths and globs, joined by commas"),
           {.name = "test_data",
            .help = "Samples to test on, in place of a part of --data",
            .is_basic = true});
  list.Add(Text(MEMBER(data.cache), "a directory"),
           {.name = "data_cache",
            .help = "With text: directory, on each host, where the binary form that runs make of "
                    "it is kept for later runs of the same files. Default: a temporary directory "
                    "under TMPDIR, which goes with the run",
            .verbs = kTrain});
  list.Add(Whole(MEMBER(data.max_bad_lines), 0),
           {.name = "max_bad_lines",
            .help = "With text: lines that cannot be read and are left out, at most",
            .is_basic = true});
}

void AddIdsAndOrder(SettingList& list) {
  list.Add(Choice(MEMBER(data.id_mapping), {"hash", "dictionary"}),
           {.name = "id_mapping",
            .help = "With dataset: how a token becomes a row. hash: the token modulo the rows; "
                    "dictionary: tokens are numbered as they first appear",
            .digest = kIn});
  list.Add(Whole(MEMBER(data.max_ind_range), -1),
           {.name = "max_ind_range",
            .help = "With dataset: tokens are taken modulo this first, and no table has more rows; "
                    "-1: off",
            .digest = kIn});
  list.Add(Choice(MEMBER(data.randomize), {"total", "none", "day", "blocks"}),
           {.name = "data_randomize",
            .help = "With data that are read: the order of train samples. total: one permutation "
                    "of all; none: that of the files; day: file after file, each permuted; blocks: "
                    "blocks in random order, samples shuffled within each, anew in every epoch",
            .digest = kOfRun});
}

void AddSizes(SettingList& list) {
  list.Add(Whole(MEMBER(data.data_size), 1), {.name = "data_size",
                                              .help = "With random and synthetic: train samples",
                                              .digest = kOfRun,
                                              .is_basic = true});
  list.Add(Whole(MEMBER(data.num_batches), 0),
           {.name = "num_batches",
            .help = "Train batches of an epoch: with random instead of data_size, with other data "
                    "as an earlier end of the epoch; 0: off",
            .digest = kOfRun});
}

void AddRandom(SettingList& list) {
  list.Add(Whole(MEMBER(data.num_indices_per_lookup), 1),
           {.name = "num_indices_per_lookup",
            .help = "With random: ids in a bag, at most",
            .digest = kOfRun});
  list.Add(Switch(MEMBER(data.num_indices_per_lookup_fixed)),
           {.name = "num_indices_per_lookup_fixed",
            .help = "With random: every bag has num_indices_per_lookup ids",
            .digest = kOfRun});
  list.Add(Switch(MEMBER(data.round_targets)),
           {.name = "round_targets",
            .help = "With random: labels are 0 and 1 instead of numbers between",
            .digest = kOfRun});
  list.Add(
      Choice(MEMBER(data.rand_data_dist), {"uniform", "gaussian"}),
      {.name = "rand_data_dist", .help = "With random: the distribution of ids", .digest = kOfRun});
  list.Add(Real(MEMBER(data.rand_data_min), "a number", IsAny),
           {.name = "rand_data_min", .help = "With gaussian: the smallest id", .digest = kOfRun});
  list.Add(Real(MEMBER(data.rand_data_max), "a number", IsAny),
           {.name = "rand_data_max", .help = "With gaussian: the largest id", .digest = kOfRun});
  list.Add(Real(MEMBER(data.rand_data_mu), "a number", IsAny),
           {.name = "rand_data_mu",
            .help = "With gaussian: the mean; -1: halfway between the smallest and the largest id",
            .digest = kOfRun});
  list.Add(Real(MEMBER(data.rand_data_sigma), "a number greater than 0", IsPositive),
           {.name = "rand_data_sigma",
            .help = "With gaussian: the standard deviation",
            .digest = kOfRun});
}

void AddSynthetic(SettingList& list) {
  list.Add(Whole(MEMBER(data.test_samples), 0), {.name = "synthetic_test_samples",
                                                 .help = "With synthetic: samples to test on",
                                                 .digest = kOfRun});
  list.Add(Real(MEMBER(data.zipf_exponent), "a number of 0 or more", IsNotNegative),
           {.name = "zipf_exponent",
            .help = "With synthetic: id k of a table is as frequent as 1 / k^this",
            .digest = kOfRun});
  list.Add(Real(MEMBER(data.effect_scale), "a number of 0 or more", IsNotNegative),
           {.name = "effect_scale",
            .help = "With synthetic: the standard deviation of the planted logit",
            .digest = kOfRun});
  list.Add(
      Whole(MEMBER(data.bag_length), 1, 65536),
      {.name = "synthetic_bag_length", .help = "With synthetic: ids in a bag", .digest = kOfRun});
  list.Add(Switch(MEMBER(data.bag_length_fixed)),
           {.name = "synthetic_bag_fixed",
            .help = "With synthetic: every bag has synthetic_bag_length ids; otherwise 1 to that "
                    "many",
            .digest = kOfRun});
  list.Add(Switch(MEMBER(data.has_lookup_weights)),
           {.name = "synthetic_weights",
            .help = "With synthetic: each id of a bag has a weight from 0.5 to 1.5; all tables "
                    "need pooling sum",
            .digest = kOfRun});
}

void AddOthers(SettingList& list) {
  AddDeclared(
      list, Datasets(), [](Settings& s) -> OptionValues& { return s.data.own; }, "data.own",
      kOfRun);
}

REGISTER_MEMBER(RegisterSettings(Section::kData, {AddSource, AddIdsAndOrder, AddSizes, AddRandom,
                                                  AddSynthetic, AddOthers}));

}  // namespace
}  // namespace rowhouse
