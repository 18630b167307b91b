// No file but a member's own knows it by name: what others must know of it, it declares. Every name
// of a registered member that stands in quotes elsewhere, or ends what does ("data_synthetic",
// "--loss_function=bce"), is listed here, with the reason.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "ps/cache/cache_policy.h"
#include "ps/store/row_store.h"
#include "sharding/plans/strategy.h"
#include "sharding/rows/initialiser.h"
#include "sharding/rows/optimizer.h"
#include "sharding/tables/table_kind.h"
#include "tests/testing/testing.h"
#include "worker/data/dataset.h"
#include "worker/data/text/text_format.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/interaction.h"
#include "worker/dense/loss.h"
#include "worker/dense/lr_policy.h"

namespace rowhouse {
namespace {

struct Allowed {
  std::string file;  // or a folder, with a / at its end
  std::set<std::string> names;
  std::string why;
};

const std::vector<Allowed>& AllowedNames() {
  static const std::string kDefault = "the default of a setting",
                           kDlrm = "a flag of DLRM chooses it",
                           kMakes = "makes this member; compares nothing",
                           kAdvice = "a message that says what to do",
                           kWord = "the word means something else here";
  static const std::vector<Allowed> allowed = {
      {"common/transport/security.cc", {"plain"}, kWord},
      {"launch/accountability/", {"*"}, "the configurations that predictions are judged by"},
      {"launch/bench/", {"*"}, "each benchmark names what it measures"},
      {"launch/bench_rows/", {"*"}, "each benchmark names what it measures"},
      {"launch/bench_tier/", {"*"}, "each benchmark names what it measures"},
      {"launch/calibrate/calibration.cc", {"grid"}, kWord},
      {"launch/calibrate/kernels/messages.cc", {"sgd"}, "the kernel is measured with it"},
      {"launch/calibrate/kernels/store.cc", {"rocksdb"}, "the kernel measures it"},
      {"launch/calibrate/trained_config.cc", {"*"}, "runs that factors are fitted to"},
      {"launch/calibrate/trained_config.h", {"adagrad", "dot", "row_wise"}, kDefault},
      {"launch/data/convert.cc", {"block"}, kWord},
      {"launch/data/data_verb.cc", {"criteo"}, kDefault},
      {"launch/plan/candidates_report.cc", {"memory"}, kWord},
      {"launch/figures/pages/", {"grid", "memory"}, kWord},
      {"launch/lab/train_bench.cc", {"dcn", "synthetic"}, kMakes},
      {"launch/lab/train_lines.cc", {"mse", "table_wise_lpt"}, kMakes},
      {"launch/lab/walkthrough.cc", {"dlrm", "memory"}, kMakes},
      {"launch/exports/", {"npy"}, "the format of an exported file"},
      {"launch/model/", {"npy"}, "the format of an exported file"},
      {"launch/model/ckpt_stats.cc", {"memory"}, kWord},
      {"launch/model/saved_rows.cc", {"rocksdb"}, kMakes},
      {"launch/plan/size_plan.cc", {"plain"}, kWord},
      {"launch/program.cc", {"npy"}, "the format of an exported file"},
      {"launch/profile/", {"cat", "clock", "memory"}, kWord},
      {"launch/regimes/", {"dlrm", "memory", "mixed"}, kMakes + "; " + kWord},
      {"launch/report/comparison.cc", {"plain"}, kWord},
      {"launch/report/report.cc", {"memory"}, kWord},
      {"launch/prediction/node_plan.cc", {"memory"}, kWord},
      {"launch/run/prepared_run.cc", {"memory"}, kWord},
      {"launch/report/strategy_comparison.cc", {"grid"}, kWord},
      {"launch/score/score.cc", {"memory"}, kWord},
      {"launch/command_line/made_settings.cc", {"skew_aware"}, kDefault},
      {"launch/settings/entries/", {"*"}, kDlrm + "; names of flags"},
      {"launch/settings/model_rules.cc", {"mixed", "qr"}, kDlrm},
      {"launch/settings/settings.cc", {"converted", "criteo", "random"}, kDlrm},
      {"launch/settings/settings_checks.cc", {"dataset", "rocksdb"}, kAdvice},
      {"launch/settings/settings.h",
       {"dataset", "poly2", "row_wise", "sgd"},
       kDefault + "; " + kDlrm},
      {"launch/settings/key_fields.cc", {"momentum", "npy"}, kDlrm},
      {"launch/command_line/verb_flags.cc", {"fair", "memory", "npy"}, kWord},
      {"ps/cache/cache_policy.h", {"lrfu"}, kDefault},
      {"ps/node/server.cc", {"memory"}, kWord},
      {"ps/shard/node_options.h", {"rocksdb"}, kDefault},
      {"ps/shard/shard_opening.cc", {"rocksdb"}, kAdvice},
      {"ps/shard/shard_opening.h", {"rocksdb"}, kDefault},
      {"ps/store/row_store.cc", {"rocksdb"}, kAdvice},
      {"sharding/lab/cost/bag_times.cc", {"sgd"}, "the kernel is measured with it"},
      {"sharding/lab/cost/machine.cc", {"cat"}, "a typical machine's: it copies, others multiply"},
      {"sharding/lab/gpu/", {"block", "cat", "sgd"}, kWord},
      {"sharding/lab/gpu/op_rules.cc", {"dot"}, "an operator of a profile that is two products"},
      {"sharding/lab/planner/", {"memory"}, kWord},
      {"sharding/lab/planner/planner.cc",
       {"column_wise", "grid", "replicated", "row_wise", "row_wise_hashed", "skew_aware"},
       "says which strategy a plan resembles"},
      {"sharding/plans/plan_maker.h", {"row_wise"}, kDefault},
      {"sharding/rows/optimizer_options.cc", {"momentum"}, kWord},
      {"sharding/rows/table_spec.h", {"counter", "plain", "sgd"}, kDefault},
      {"sharding/tables/embedding_tables.cc", {"constant", "npy"}, kMakes},
      {"sharding/tables/kinds/grouped.cc",
       {"fair", "normal"},
       "a mode of LoadBalanceManager; a scale of its own"},
      {"sharding/tables/kinds/qr.cc", {"normal"}, "a scale of its own"},
      {"sharding/tables/load_balance_manager.cc", {"fair"}, "a mode of LoadBalanceManager"},
      {"sharding/tables/table_kind.h", {"normal"}, kWord},
      {"worker/data/blocks/converted_dataset.cc", {"dlrm"}, kWord},
      {"worker/data/blocks/sample_order.cc", {"dlrm", "random"}, kWord},
      {"worker/data/convert/prepared_text.cc", {"criteo"}, kMakes},
      {"worker/data/convert/text_baseline.cc", {"dlrm"}, kWord},
      {"worker/data/infer/inference.cc", {"delimited"}, kMakes},
      {"worker/data/infer/label_guess.cc", {"converted"}, kWord},
      {"worker/dense/model_spec.cc", {"cat"}, "a message"},
      {"worker/dense/model_spec.h", {"dot", "mse"}, kDefault},
      {"worker/train/training_step.h", {"sgd"}, kDefault},
  };
  return allowed;
}

// Null: it is not.
const Allowed* WhyAllowed(const std::string& path, const std::string& name) {
  for (const Allowed& allowed : AllowedNames()) {
    const bool is_here =
        allowed.file.ends_with('/') ? path.starts_with(allowed.file) : path == allowed.file;
    if (is_here && (allowed.names.contains(name) || allowed.names.contains("*"))) return &allowed;
  }
  return nullptr;
}

// Names of members, each with the folders of the families that have one of that name.
std::map<std::string, std::set<std::string>> FoldersByName() {
  std::map<std::string, std::set<std::string>> folders;
  const auto add = [&](const std::vector<std::string>& names, const std::string& folder) {
    for (const std::string& name : names) folders[name].insert(folder);
  };
  add(CachePolicies().Names(), "ps/cache/policies/");
  add(RowStores().Names(), "ps/store/engines/");
  add(ShardingStrategies().Names(), "sharding/plans/strategies/");
  add(Initialisers().Names(), "sharding/rows/initialisers/");
  add(Optimizers().Names(), "sharding/rows/optimizers/");
  add(TableKinds().Names(), "sharding/tables/kinds/");
  add(Datasets().Names(), "worker/data/sources/");
  add(TextFormats().Names(), "worker/data/sources/");
  add(DenseOptimizers().Names(), "worker/dense/optimizers/");
  add(Interactions().Names(), "worker/dense/interactions/");
  add(LrPolicies().Names(), "worker/dense/lr_policies/");
  add(Losses().Names(), "worker/dense/loss.cc");
  return folders;
}

// Whether a quoted string of `code` is `name`, or ends with it behind a _, +, =, / or the like. Not
// one that is another member's name.
bool Names(const std::string& code, const std::string& name,
           const std::map<std::string, std::set<std::string>>& members) {
  const std::string end = name + "\"";
  for (size_t at = code.find(end); at != std::string::npos; at = code.find(end, at + 1)) {
    if (at == 0 || std::isalnum(static_cast<unsigned char>(code[at - 1])) != 0) continue;
    if (code[at - 1] == ' ') continue;
    const std::string quoted = code.substr(0, at + name.size());
    const std::string whole = quoted.substr(quoted.rfind('"') + 1);
    if (whole == name || !members.contains(whole)) return true;
  }
  return false;
}

// Sentences about names in quotes that are not allowed; comments do not count. *used: the
// allowances that were needed.
std::vector<std::string> NamesIn(const std::string& path, std::istream& text,
                                 std::set<const Allowed*>* used) {
  static const auto folders = FoldersByName();
  std::vector<std::string> found;
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    const std::string code = line.substr(0, line.find("//"));
    for (const auto& [name, homes] : folders) {
      if (!Names(code, name, folders)) continue;
      const bool is_at_home =
          std::ranges::any_of(homes, [&](const auto& home) { return path.starts_with(home); });
      if (is_at_home) continue;
      if (const Allowed* why = WhyAllowed(path, name)) {
        used->insert(why);
        continue;
      }
      found.push_back(path + ":" + std::to_string(number) + ": \"" + name +
                      "\": let the member declare what is asked of it here");
    }
  }
  return found;
}

TEST(MemberNames, StandInNoFileButTheirOwn) {
  const std::filesystem::path top = ROWHOUSE_SOURCE_DIR;
  std::set<const Allowed*> used;
  for (const char* floor : {"common", "sharding", "ps", "worker", "launch"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(top / floor)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc" && extension != ".js") continue;
      std::ifstream text(entry.path());
      const std::string path = std::filesystem::relative(entry.path(), top).string();
      for (const std::string& sentence : NamesIn(path, text, &used)) {
        ADD_FAILURE() << sentence;
      }
    }
  }
  for (const Allowed& allowed : AllowedNames()) {
    EXPECT_TRUE(used.contains(&allowed)) << allowed.file << ": nothing needs this allowance";
  }
}

TEST(MemberNames, ANameElsewhereIsFound) {
  const auto found = [](const std::string& path, const std::string& text) {
    std::istringstream lines(text);
    std::set<const Allowed*> used;
    return NamesIn(path, lines, &used).size();
  };
  EXPECT_EQ(found("sharding/lab/cost/x.cc", "if (policy == \"lfu\") {\n"), 1u);
  EXPECT_EQ(found("sharding/lab/cost/x.cc", "kernels[\"data_synthetic\"]\n"), 1u);
  EXPECT_EQ(found("launch/run/x.js", "if (loss === \"bce\")\n"), 1u);
  EXPECT_EQ(found("sharding/lab/cost/x.cc", "\"rows in memory\", \"resorted_adam_\"\n"), 0u);
  EXPECT_EQ(found("sharding/lab/cost/x.cc", "f();  // \"lfu\"\n"), 0u);
  EXPECT_EQ(found("ps/cache/policies/lfu.cc", "Add<Lfu>(\"lfu\")\n"), 0u);
  EXPECT_EQ(found("ps/cache/cache_policy.h", "= \"lrfu\";\n"), 0u);
}

}  // namespace
}  // namespace rowhouse
