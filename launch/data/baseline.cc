// rowhouse data baseline FILE ...: what a logistic regression over hashed tokens is worth on the
// split that a run with the same settings makes.
#include <fmt/ranges.h>

#include "common/counted.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/figures/figures.h"
#include "worker/data/convert/text_baseline.h"

namespace rowhouse {
namespace {

Status RunBaseline(const CommandLine& command_line, const std::vector<std::string>& arguments,
                   const Settings& settings) {
  if (!arguments.empty() && !command_line.Value("data").empty()) {
    return UsageError("data baseline: files are given, and --data too; give one of them");
  }
  DatasetOptions options = settings.data;
  if (!arguments.empty()) options.file = fmt::format("{}", fmt::join(arguments, ","));
  if (options.file.empty()) {
    return UsageError(
        "data baseline: expected FILE ... --test_fraction=F, and --config for text that is not "
        "Criteo's");
  }
  if (!settings.are_tables_given) options.shape = {};
  const std::string source = TextSourceOf(settings.data_generation, options.text.schema);
  ASSIGN_OR_RETURN(const BaselineResult result, MeasureBaseline(source, options));
  const Metrics& metrics = result.metrics;
  Figures figures{.json = {{"model", "logistic regression over hashed tokens"},
                           {"train_samples", result.train_samples},
                           {"test_samples", result.test_samples},
                           {"mean_label", result.mean_label},
                           {"bad_lines", result.bad_lines},
                           {"auc", metrics.roc_auc},
                           {"logloss", metrics.logloss},
                           {"accuracy", metrics.accuracy}}};
  figures.Say(
      "logistic regression over hashed tokens (FTRL), one pass over {}\n"
      "test AUC {:.4f} logloss {:.4f} accuracy {:.4f}  {}\n",
      Counted(result.train_samples, "train sample"), metrics.roc_auc, metrics.logloss,
      metrics.accuracy, Counted(result.test_samples, "test sample"));
  return DeliverFigures(command_line.Value(kJsonFlag), figures);
}

REGISTER_MEMBER(AddDataCommand(
    {.name = "baseline",
     .arguments = "FILE ... --test_fraction=F [--config=FILE]",
     .what = "learns a logistic regression on the train part of text and measures it on the test "
             "part, as a yardstick for models of the same settings",
     .run = RunBaseline}));

}  // namespace
}  // namespace rowhouse
