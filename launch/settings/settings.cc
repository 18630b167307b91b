#include "launch/settings/settings.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <filesystem>

#include "common/read_value.h"
#include "launch/settings/going_on.h"
#include "launch/settings/model_rules.h"
#include "launch/settings/settings_checks.h"
#include "launch/settings/strategy_settings.h"
#include "ps/store/row_store.h"
#include "sharding/rows/optimizer.h"

namespace rowhouse {

LrPolicyOptions TrainingSettings::lr_policy_options() const {
  return {.base = learning_rate,
          .warmup_steps = lr_num_warmup_steps,
          .decay_start_step = lr_decay_start_step,
          .decay_steps = lr_num_decay_steps,
          .own = lr_policy_own};
}

Settings::Settings() {
  model.bottom_mlp = {4, 3, 2};
  model.top_mlp = {4, 2, 1};
  table_defaults.dim = sparse_feature_size;
  SetTableRows({4, 3, 2});
  are_tables_given = false;
}

void Settings::SetTableRows(const std::vector<uint64_t>& rows) {
  if (tables.size() != rows.size()) {
    tables.assign(rows.size(), table_defaults);
    for (size_t i = 0; i < rows.size(); ++i) tables[i].name = fmt::format("t{}", i);
  }
  for (size_t i = 0; i < rows.size(); ++i) tables[i].rows = rows[i];
  are_tables_given = true;
}

void Settings::Complete() {
  const bool has_data = !data.file.empty() || !data.text.schema.format.empty();
  if (data_generation.empty()) data_generation = has_data ? kOfFile : "random";
  CompressTables(this);
  ForgetUselessOptimizerOptions(this);
  // DLRM caps tables at the range its ids are brought into.
  const int64_t range = ReadInteger(FlagText(data, "max_ind_range")).value();
  const bool is_capped = data_generation == kOfFile && range > 0;
  data.shape = {.dense_features = model.bottom_mlp.empty() ? 0 : model.bottom_mlp.front()};
  for (LogicalTable& table : tables) {
    if (is_capped) table.rows = std::min(table.rows, static_cast<uint64_t>(range));
    data.shape.table_rows.push_back(table.rows);
    data.shape.table_names.push_back(table.name);
    data.shape.takes_bad_ids.push_back(table.bad_ids != "error");
  }
  FitSchemaToTables(this);
  AssignDraws(this);
  SetRateFactors(this);
  Result<EmbeddingTables> made = EmbeddingTables::Make(tables, model.wide);
  embedding_status_ = made.status();
  embedding = made.ok() ? std::move(made).value() : EmbeddingTables();
  model.feature_widths = embedding.widths();
}

Status Settings::Validate(bool reads_data) const {
  if (tables.empty()) return UsageError("the model has no tables");
  RETURN_IF_ERROR(CheckCompression(*this));
  RETURN_IF_ERROR(CheckRateFactors(*this));
  RETURN_IF_ERROR(embedding_status_);
  RETURN_IF_ERROR(CheckTables(*this));
  RETURN_IF_ERROR(model.Validate());
  RETURN_IF_ERROR(CheckOptimizers(*this));
  RETURN_IF_ERROR(LrPolicies().Make(training.lr_policy, training.lr_policy_options()).status());
  RETURN_IF_ERROR(RowStores().Validate(storage.store));
  RETURN_IF_ERROR(CheckStorageOptions(storage));
  RETURN_IF_ERROR(Datasets().Validate(data_source()));
  RETURN_IF_ERROR(
      CheckDeclared("data source " + data_source(), Datasets().OptionsOf(data_source()), data.own));
  RETURN_IF_ERROR(CheckSchemaFits(*this));
  if (sharding.plan.starts_with("auto:")) {
    return UsageError("--plan={}: the planner has one method; say --plan=auto", sharding.plan);
  }
  if (sharding.plan.empty() || AsksForPlanner(sharding.plan))
    RETURN_IF_ERROR(CheckStrategySettings(*this));
  return CheckTogether(*this, reads_data);
}

std::string Settings::dense_optimizer() const {
  if (!training.dense_optimizer.empty()) return training.dense_optimizer;
  const std::string& dense = Optimizers().DeclarationOf(training.optimizer).dense;
  return dense.empty() ? training.optimizer : dense;
}

DenseOptimizerOptions Settings::dense_optimizer_options() const { return DenseOptionsOf(*this); }

std::string Settings::data_source() const {
  if (data_generation != kOfFile) return data_generation;
  std::error_code ignored;
  if (std::filesystem::exists(data.file + "/data.json", ignored)) return "converted";
  return data.text.schema.format.empty() ? "criteo" : data.text.schema.format;
}

uint64_t Settings::test_mini_batch_size() const {
  return training.test_mini_batch_size < 1 ? data.mini_batch_size
                                           : static_cast<uint64_t>(training.test_mini_batch_size);
}

std::string Settings::row_directory() const {
  if (!storage.row_dir.empty()) return storage.row_dir;
  return output.model_dir.empty() ? "" : output.model_dir + "/rows";
}

std::string Settings::report_path() const {
  if (!output.report.empty()) return output.report;
  return output.model_dir.empty() ? "" : output.model_dir + "/report.json";
}

bool Settings::keeps_best() const {
  return (data.held_out.valid_fraction > 0.0 || !data.held_out.split_index.empty()) &&
         !output.model_dir.empty() && storage.has_files();
}

std::string Settings::run_label() const {
  if (!output.label.empty() || output.model_dir.empty()) return output.label;
  const std::filesystem::path path = std::filesystem::absolute(output.model_dir).lexically_normal();
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

Result<uint32_t> Settings::PsRanks(uint32_t ranks) const {
  CHECK_GE(ranks, 1u);
  if (!cluster.ps_endpoints.empty()) return uint32_t{0};
  if (cluster.ps == 0) {
    return UsageError(
        "ps=0 leaves nobody to hold the rows; give --ps_endpoints=tcp://host:port,... of PS nodes "
        "that run already, or ps=1 or more");
  }
  if (ranks == 1 && cluster.ps_per_host > 1) {
    return UsageError(
        "ps_per_host={} of 1 rank leaves no worker; start {} ranks a host or more (mpirun -n {})",
        cluster.ps_per_host, cluster.ps_per_host + 1, cluster.ps_per_host + 1);
  }
  if (ranks == 1 && cluster.ps <= 1) return uint32_t{0};
  const uint32_t ps = cluster.ps < 0 ? ranks / 2 : static_cast<uint32_t>(cluster.ps);
  if (ps >= ranks) {
    return UsageError(
        "ps={} of {} rank{} leaves no worker; start at least {} ranks (mpirun -n {}), or lower ps",
        ps, ranks, ranks == 1 ? "" : "s", ps + 1, ps + 1);
  }
  return ps;
}

std::string Settings::config_digest() const { return ConfigDigest(*this); }

}  // namespace rowhouse
