// Settings of training. Names and defaults of DLRM's flags are DLRM's.
#include "launch/settings/setting_list.h"
#include "sharding/rows/optimizer.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

using enum Digest;

// One optimizer for the dense part and all rows, as in DLRM; a YAML file may give tables others.
Value<std::string> OptimizerOfAll() {
  Value<std::string> value = RowOptimizerValue();
  value.read = [read = value.read](const std::string& text) -> Result<std::string> {
    if (text != "adamw") return read(text);
    return UsageError(
        "adamw is for the dense part only, because it would decay rows that no step touches; "
        "give dense_optimizer=adamw and optimizer=lazy_adam or adam");
  };
  return value;
}

Value<std::string> DenseOptimizerName() {
  Value<std::string> value = NameValue(DenseOptimizers());
  value.expected += "; nothing: what goes with optimizer";
  value.read = [read = value.read](const std::string& text) -> Result<std::string> {
    if (text.empty()) return text;
    return read(text);
  };
  return value;
}

// An option of all tables and the dense part, by its name in a table of the YAML file.
// Settings::Complete() takes it away where it has no use.
void AddOptionOfAll(SettingList& list, std::string_view name, const std::string& help) {
  const OptimizerOptionField* const option = FindOptimizerOption(name);
  CHECK(option != nullptr) << name;
  const Member<float> member = {.path = fmt::format("training.optimizer_options.{}", name),
                                .pick = [of = option->member](Settings& s) -> float& {
                                  return s.training.optimizer_options.*of;
                                }};
  list.Add(Held(member, OptimizerOptionValue(*option)),
           {.name = std::string(option->setting),
            .help = help,
            .digest = kIn,
            .then = [of = option->member](Settings& s) {
              const float value = s.training.optimizer_options.*of;
              ForAllTables(s, [&](LogicalTable& table) { table.optimizer_options.*of = value; });
            }});
}

// The same for one that `takers` declare themselves.
void AddDeclaredOfAll(SettingList& list, const DeclaredOption& option,
                      const std::vector<std::string>& takers) {
  Entry entry = EntryOf(option, takers, "optimizer_");
  entry.then = [option](Settings& s) {
    const std::string value = option.TextIn(s.training.optimizer_options.own);
    ForAllTables(s, [&](LogicalTable& table) {
      CHECK(option.Set(value, &table.optimizer_options.own).ok());
    });
  };
  const PickOptions pick = [](Settings& s) -> OptionValues& {
    return s.training.optimizer_options.own;
  };
  list.Add(Declared(option, pick, "training.optimizer_options.own"), std::move(entry));
}

// Options of optimizers of the rows or of the dense part; both may take one.
void AddDeclaredOfOptimizers(SettingList& list) {
  const std::vector<DeclaredOption> of_rows = Optimizers().DeclaredOptions();
  for (const DeclaredOption& option : of_rows) {
    std::vector<std::string> takers = Optimizers().NamesTaking(option.name());
    for (const std::string& name : DenseOptimizers().NamesTaking(option.name())) {
      if (std::ranges::count(takers, name) == 0) takers.push_back(name);
    }
    AddDeclaredOfAll(list, option, takers);
  }
  for (const DeclaredOption& option : DenseOptimizers().DeclaredOptions()) {
    const auto same = std::ranges::find(of_rows, option.name(), &DeclaredOption::name);
    CHECK(same == of_rows.end() || *same == option)
        << "optimizers of the rows and of the dense part declare " << option.name()
        << " differently";
    if (same != of_rows.end()) continue;
    AddDeclaredOfAll(list, option, DenseOptimizers().NamesTaking(option.name()));
  }
}

void AddSamples(SettingList& list) {
  list.Add(Whole(MEMBER(data.mini_batch_size), 1, uint64_t{1} << 31),
           {.help = "Samples of a step, over all workers",
            .aliases = {"batch_size"},
            .digest = kIn,
            .is_basic = true});
  list.Add(Whole(MEMBER(training.test_mini_batch_size), -1, int64_t{1} << 31),
           {.help = "The same when testing; -1: as mini_batch_size"});
  list.Add(Whole(MEMBER(training.nepochs), 1),
           {.help = "Times that the model goes through the train samples, over all its runs",
            .aliases = {"epochs"},
            .is_basic = true});
}

void AddRate(SettingList& list) {
  list.Add(Real(MEMBER(training.learning_rate), "a number from 0 to 3.4e38", IsFloatNotNegative),
           {.help = "Learning rate, before the schedule of lr_policy",
            .aliases = {"lr"},
            .digest = kOfRun,
            .is_basic = true});
  list.Add(Choice(MEMBER(training.lr_policy), LrPolicies().Names()),
           {.help = "The rate of a step, counted from the model's first. poly2: DLRM's linear "
                    "warm-up and quadratic decay, constant without such steps; poly2_smooth: the "
                    "same without its plateau before the decay and its jump; constant",
            .digest = kOfRun});
  list.Add(Whole(MEMBER(training.lr_num_warmup_steps), 0, kMaxLrSteps),
           {.help = "Steps in which the rate rises to learning_rate; 0: none", .digest = kOfRun});
  list.Add(Whole(MEMBER(training.lr_decay_start_step), 0, kMaxLrSteps),
           {.help = "The step, counted from 1, at which the decay starts; lr_num_warmup_steps or "
                    "more",
            .digest = kOfRun});
  list.Add(Whole(MEMBER(training.lr_num_decay_steps), 0, kMaxLrSteps),
           {.help = "Steps in which the rate falls towards 1e-7; 0: no decay", .digest = kOfRun});
  AddDeclared(
      list, LrPolicies(), [](Settings& s) -> OptionValues& { return s.training.lr_policy_own; },
      "training.lr_policy_own", kOfRun);
}

// Options that several optimizers share, by their names in a table of the YAML file.
void AddOptimizerOptions(SettingList& list) {
  const std::pair<std::string_view, std::string> options[] = {
      {"epsilon", "Adagrads, Adams: added to the root; 0: 1e-10 for Adagrads, 1e-8 for Adams"},
      {"initial_accumulator", "Adagrads, ftrl: initial value of the sum of squares"},
      {"learning_rate_decay", "Adagrads: step t, counted from 0, has the rate / (1 + t * this)"},
      {"weight_decay",
       "All but ftrl: this times the weight is added to the gradient (L2); of rows only in steps "
       "that look them up"},
      {"momentum", "momentum: the fraction of the velocity that a step keeps"},
      {"beta1", "Adams: the fraction of the mean that a step keeps"},
      {"beta2", "Adams: the fraction of the mean square that a step keeps"},
      {"l1", "ftrl: L1, which makes weights exactly 0"},
      {"l2", "ftrl: L2"},
      {"beta", "ftrl: the rate of a weight is rate / (this + the root of its sum of squares)"},
  };
  CHECK_EQ(std::size(options), OptimizerOptionFields().size());
  for (const auto& [name, help] : options) AddOptionOfAll(list, name, help);
}

void AddOptimizerOfRows(SettingList& list) {
  list.Add(Held(MEMBER(training.optimizer), OptimizerOfAll()),
           {.help = "Optimizer of the rows, and of the dense part unless dense_optimizer names "
                    "another. Each changes a row only in steps that look it up. adam lets the "
                    "row's moments fade in other steps; lazy_adam (torch's SparseAdam) does not",
            .digest = kIn,
            .is_basic = true,
            .then = [](Settings& s) {
              ForAllTables(s,
                           [&s](LogicalTable& table) { table.optimizer = s.training.optimizer; });
            }});
}

void AddOptimizerOfDensePart(SettingList& list) {
  list.Add(Held(MEMBER(training.dense_optimizer), DenseOptimizerName()),
           {.help = "Optimizer of the dense part. Default: that of the rows, or for those that "
                    "exist only for rows adagrad (rowwise_adagrad, ftrl) or adam (lazy_adam)",
            .digest = kIn});
  list.Add(
      Real(MEMBER(training.dense_learning_rate),
           "a number from 0 to 3.4e38, or -1 for that of the rows", IsFloatNotNegativeOrMinusOne),
      {.help = "Learning rate of the dense part, with the same schedule", .digest = kOfRun});
  list.Add(Real(MEMBER(training.dense_weight_decay),
                "a number from 0 to 3.4e38, or -1 for the default", IsFloatNotNegativeOrMinusOne),
           {.help = "Weight decay of the dense part; -1: 0.01 for adamw, optimizer_weight_decay "
                    "for others",
            .digest = kIn});
}

void AddLookupL2(SettingList& list) {
  list.Add(Real(MEMBER(training.lookup_l2), "a number of 0 or more", IsNotNegative),
           {.help = "L2 of rows in the scale of the loss: each lookup adds this times half the "
                    "row's square to its sample's loss, so that a row decays as often as it is "
                    "looked up (optimizer_weight_decay: once a step, however often). Only its "
                    "gradient is computed: losses are printed without it",
            .digest = kOfRun});
}

void AddComputation(SettingList& list) {
  list.Add(Whole(MEMBER(data.seed), 0, 0xffffffff),
           {.name = "numpy_rand_seed",
            .help = "Seed of the initial values, of generated data and of the order of train "
                    "samples",
            .aliases = {"seed"},
            .digest = kIn,
            .is_basic = true,
            .verbs = kTrain | kPlan | kData,
            .then = [](Settings& s) {
              ForAllTables(
                  s, [&s](LogicalTable& table) { table.initialiser_options.seed = s.data.seed; });
            }});
  list.Add(Whole(MEMBER(training.threads), 1, 1024),
           {.help = "Compute threads of a worker. Another number gives other last bits, so it is "
                    "never taken from the machine. predict and eval use all cores unless it is "
                    "given, and their scores do not depend on it",
            .digest = kIn,
            .is_basic = true,
            .verbs = kTrain | kPlan | kPredict | kEval});
  list.Add(Whole(MEMBER(training.accumulation), 1, 1 << 20),
           {.name = "mlperf_grad_accum_iter",
            .help = "Mini-batches of a step, which has this times mini_batch_size samples: their "
                    "gradients are summed, and the loss is the mean over all samples. It needs "
                    "less memory than one batch of that size and trains alike",
            .digest = kIn});
}

void AddTimes(SettingList& list) {
  list.Add(Whole(MEMBER(training.stop_after_steps), 0),
           {.help = "Steps of this run, which then saves and stops; 0: it trains to the end"});
  list.Add(
      Whole(MEMBER(training.test_freq), -1),
      {.help =
           "Steps between tests, or validations of samples held out for them; each epoch then ends "
           "with one, too; 0 or -1: one test, at the end of the run",
       .is_basic = true});
  list.Add(Whole(MEMBER(training.early_stop_patience), 0),
           {.help = "With validations: the run ends after this many validations in turn that are "
                    "no better than the best one before them; 0: it goes on to the end"});
  list.Add(Choice(MEMBER(training.early_stop_metric), {"auc", "logloss"}),
           {.help = "With validations: by what a validation is better than another, also for "
                    "plateau_patience"});
  list.Add(Whole(MEMBER(training.plateau_patience), 0),
           {.help = "With validations: the learning rate is cut after this many validations in "
                    "turn, since the best one or the last cut, that are no better than the best "
                    "one; 0: never",
            .digest = kOfRun});
  list.Add(
      Real(MEMBER(training.plateau_factor), "a number above 0 and below 1",
           [](double value) { return value > 0.0 && value < 1.0; }),
      {.help = "With plateau_patience: what each cut multiplies the rate by", .digest = kOfRun});
  list.Add(
      Whole(MEMBER(training.progressive_freq), 0),
      {.help = "Progressive validation: after this many steps, AUC and logloss of their samples, "
               "each scored by the model before it was trained on; 0: none"});
  list.Add(Whole(MEMBER(training.print_freq), -1),
           {.help = "Steps between progress lines; each epoch then ends with one, too; 0 or -1: "
                    "none",
            .is_basic = true});
  list.Add(Whole(MEMBER(training.print_precision), 1, 17),
           {.help = "Digits of the values that debug_mode prints"});
  list.Add(Switch(MEMBER(training.debug_mode)),
           {.help = "Prints model, data and all parameters before and after training, as DLRM "
                    "does, but only the first and last elements of long arrays. With "
                    "data_generation=random and initialiser=dlrm it changes the initial values, "
                    "as in DLRM, where printing the data draws numbers before the weights do; "
                    "otherwise it changes nothing"});
}

REGISTER_MEMBER(RegisterSettings(Section::kTraining,
                                 {AddSamples, AddRate, AddOptimizerOfRows, AddOptimizerOptions,
                                  AddDeclaredOfOptimizers, AddOptimizerOfDensePart, AddLookupL2,
                                  AddComputation, AddTimes}));

}  // namespace
}  // namespace rowhouse
