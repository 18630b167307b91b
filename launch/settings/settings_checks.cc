#include "launch/settings/settings_checks.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "common/nearest_name.h"
#include "ps/cache/cache_policy.h"
#include "ps/shard/memory_budget.h"
#include "ps/store/row_store.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

Status CheckData(const Settings& s, bool reads_data) {
  const std::string source = s.data_source();
  const bool reads_file = DeclarationOfDataset(source).reads_file;
  if (reads_data && reads_file && s.data.file.empty()) {
    return UsageError("data_generation={} needs a file: give --data=FILE", s.data_generation);
  }
  if (!reads_file && !s.data.file.empty()) {
    return UsageError(
        "data={} is given, but data_generation={} reads no file; take one away, or say "
        "data_generation=dataset",
        s.data.file, s.data_generation);
  }
  if (const std::string weighing = DeclarationOfDataset(source).weighing_setting(s.data);
      !weighing.empty()) {
    for (const LogicalTable& table : s.tables) {
      if (table.pooling == "sum") continue;
      return UsageError(
          "{} gives every id of a bag a weight, which needs pooling=sum; that of table \"{}\" is "
          "{}",
          weighing, table.name, table.pooling);
    }
  }
  return DeclarationOfDataset(source).check(s.data);
}

Status CheckValidation(const Settings& s, bool reads_data) {
  const std::string& index = s.data.held_out.split_index;
  const double fraction = s.data.held_out.valid_fraction;
  if (fraction == 0.0 && index.empty()) {
    const bool stops = s.training.early_stop_patience > 0;
    if (!stops && s.training.plateau_patience == 0) return OkStatus();
    return UsageError(
        "{}={} counts validations, and no sample is held out for them; give "
        "--valid_fraction=0.1, which takes the last tenth of the samples to train on, or "
        "--split_index",
        stops ? "early_stop_patience" : "plateau_patience",
        stops ? s.training.early_stop_patience : s.training.plateau_patience);
  }
  if (!DeclarationOfDataset(s.data_source()).reads_file) {
    const std::string held_out = index.empty() ? "valid_fraction" : "split_index";
    return UsageError(
        "{0} holds out a part of data that are read, and data_generation={1} makes its samples; "
        "give --data=FILE, or leave {0} out",
        held_out, s.data_generation);
  }
  if (s.training.test_freq > 0 || !reads_data || fraction == 0.0) return OkStatus();
  return UsageError(
      "valid_fraction={} holds out samples, and nothing says when the model is validated on them; "
      "give --test_freq=STEPS",
      fraction);
}

Status CheckBatchNorm(const Settings& s) {
  if (!s.model.batch_norm) return OkStatus();
  if (s.training.accumulation > 1) {
    return UsageError(
        "batch_norm normalises over all samples of a step, which mlperf_grad_accum_iter={} never "
        "has in memory together; leave one of them out",
        s.training.accumulation);
  }
  if (s.training.progressive_freq == 0) return OkStatus();
  return UsageError(
      "progressive_freq={} takes the scores that training computes, which with batch_norm depend "
      "on the other samples of a step; leave batch_norm out, or validate by --valid_fraction",
      s.training.progressive_freq);
}

Status CheckProgressive(const Settings& s) {
  if (s.training.progressive_freq == 0 || s.model.dropout_bot + s.model.dropout_top == 0.0) {
    return OkStatus();
  }
  return UsageError(
      "progressive_freq={} takes the scores that training computes, which with dropout_bot={} and "
      "dropout_top={} are those of networks without the dropped units; take dropout away, or "
      "validate by --valid_fraction",
      s.training.progressive_freq, s.model.dropout_bot, s.model.dropout_top);
}

Status CheckModelDirectory(const Settings& s) {
  if (s.output.load && s.output.model_dir.empty()) {
    return UsageError("--load needs --model_dir: the directory of the model to go on from");
  }
  if (s.output.load && s.output.overwrite) {
    return UsageError("--load goes on from the model that --overwrite deletes: give only one");
  }
  if (!s.storage.has_files() && s.output.load) {
    return UsageError(
        "--load with store=memory: rows in memory ended with the run that trained them; train "
        "again with store=rocksdb");
  }
  if (!s.output.save_every.is_on()) return OkStatus();
  if (!s.storage.has_files()) {
    return UsageError(
        "save_every={} with store=memory: rows in memory cannot be saved; give store=rocksdb, or "
        "leave save_every out",
        s.output.save_every.text());
  }
  if (s.output.model_dir.empty()) {
    return UsageError("save_every={} needs --model_dir: the directory that the model is saved in",
                      s.output.save_every.text());
  }
  return OkStatus();
}

Status CheckStorage(const Settings& s) {
  if (s.storage.memory_limit_mb != 0) {
    RETURN_IF_ERROR(DivideMemory(s.storage.memory_limit_mb << 20, s.cluster.shards).status());
  }
  if (s.storage.durability != "none" && !s.storage.has_files()) {
    return UsageError(
        "durability={} with store=memory: a log of pushes is kept beside rows on disk; give "
        "store=rocksdb, or leave durability out",
        s.storage.durability);
  }
  if (s.storage.durability != "none" && s.row_directory().empty() &&
      s.cluster.ps_endpoints.empty()) {
    return UsageError(
        "durability={}: rows of a run without --model_dir or --row_dir are deleted at its end, and "
        "their log with them; give one of the two",
        s.storage.durability);
  }
  return OkStatus();
}

Status CheckRecording(const Settings& s) {
  if (!s.output.record_ids.empty() || s.output.record_ids_share == 1.0) return OkStatus();
  return UsageError("record_ids_share={} has no effect without record_ids; say --record_ids=FILE",
                    s.output.record_ids_share);
}

Status CheckPsNodes(const Settings& s) {
  if (!s.cluster.ps_endpoints.empty() && s.cluster.ps > 0) {
    return UsageError(
        "ps={} asks for PS nodes among the ranks, ps_endpoints={} for those that run already: "
        "give only one",
        s.cluster.ps, fmt::join(s.cluster.ps_endpoints, ","));
  }
  if (s.cluster.ps_per_host > 0 && (s.cluster.ps >= 0 || !s.cluster.ps_endpoints.empty())) {
    return UsageError(
        "ps_per_host={} says how many PS nodes there are, and so does {}: give only one",
        s.cluster.ps_per_host, s.cluster.ps >= 0 ? "ps" : "ps_endpoints");
  }
  return OkStatus();
}

// ---- Schema and model ---------------------------------------------------------------------------

// A format may have columns of its own.
bool NamesColumns(const Schema& schema) {
  return TextFormats().DeclarationOf(schema.format).names_columns || schema.has_columns();
}

std::vector<std::string> NamesOf(const std::vector<LogicalTable>& tables) {
  std::vector<std::string> names;
  for (const LogicalTable& table : tables) names.push_back(table.name);
  return names;
}

// Of the tables that the columns are looked up in.
std::vector<std::string> NamesOf(const std::vector<CategoricalColumn>& columns) {
  std::vector<std::string> names;
  for (const CategoricalColumn& column : columns) names.push_back(TableNameOf(column.name));
  return names;
}

Status CheckNames(const Schema& schema, const std::vector<LogicalTable>& tables) {
  const std::vector<std::string> of_tables = NamesOf(tables);
  const std::vector<std::string> of_columns = NamesOf(schema.categorical);
  for (const std::string& name : of_columns) {
    if (std::ranges::count(of_columns, name) > 1) {
      return UsageError("schema: several categorical columns are looked up in table {}; rename one",
                        name);
    }
    if (std::ranges::count(of_tables, name) > 0) continue;
    return UsageError(
        "schema: categorical column \"{}\" has no table of its name {}; add it to tables: list, as "
        "in {{name: {}, rows: 1000}}",
        name, DescribeKnownNames(name, of_tables), name);
  }
  for (const std::string& name : of_tables) {
    if (std::ranges::count(of_columns, name) > 0 || !NamesColumns(schema)) continue;
    return UsageError(
        "table \"{}\" has no categorical column of its name in the schema {}; add the column, or "
        "take the table away",
        name, DescribeKnownNames(name, of_columns));
  }
  return OkStatus();
}

Status CheckDenseWidth(const Settings& s) {
  const size_t columns = s.data.text.schema.dense.size();
  const size_t width = DenseInputs(s.data.text.schema).size();
  if (s.model.bottom_mlp.empty() || s.model.bottom_mlp.front() == width) return OkStatus();
  return UsageError(
      "arch_mlp_bot begins with {}, but the schema has {} dense column{}: let it begin with {}{}",
      s.model.bottom_mlp.front(), columns, columns == 1 ? "" : "s", width,
      columns == 0 ? " (one input, which is always 0)" : "");
}

Status CheckTokenWeights(const Settings& s) {
  for (const CategoricalColumn& column : s.data.text.schema.categorical) {
    if (column.weight_separator.empty()) continue;
    // CheckNames has found it.
    const auto table = std::ranges::find(s.tables, TableNameOf(column.name), &LogicalTable::name);
    if (table->pooling == "sum") continue;
    return UsageError(
        "schema: tokens of column \"{}\" have weights (weight_separator), which needs pooling=sum; "
        "that of its table is {}",
        column.name, table->pooling);
  }
  return OkStatus();
}

}  // namespace

Status CheckStorageOptions(const NodeOptions& storage) {
  for (const auto& [name, value] : storage.own) {
    if (RowStores().Declares(storage.store, name) ||
        CachePolicies().Declares(storage.cache_policy, name)) {
      continue;
    }
    return UsageError("{}={}: neither store {} nor cache policy {} has a use for it", name, value,
                      storage.store, storage.cache_policy);
  }
  return OkStatus();
}

Status CheckTogether(const Settings& settings, bool reads_data) {
  RETURN_IF_ERROR(CheckData(settings, reads_data));
  RETURN_IF_ERROR(CheckBatchNorm(settings));
  RETURN_IF_ERROR(CheckProgressive(settings));
  RETURN_IF_ERROR(CheckValidation(settings, reads_data));
  RETURN_IF_ERROR(CheckModelDirectory(settings));
  RETURN_IF_ERROR(CheckStorage(settings));
  RETURN_IF_ERROR(CheckRecording(settings));
  return CheckPsNodes(settings);
}

void FitSchemaToTables(Settings* settings) {
  Schema& schema = settings->data.text.schema;
  if (!CheckNames(schema, settings->tables).ok()) return;
  std::vector<CategoricalColumn> columns;
  for (const LogicalTable& table : settings->tables) {
    const auto is_its = [&](const CategoricalColumn& column) {
      return TableNameOf(column.name) == table.name;
    };
    const auto column = std::ranges::find_if(schema.categorical, is_its);
    if (column == schema.categorical.end()) continue;  // It is the format's own.
    columns.push_back(*column);
    columns.back().rows = table.rows;
  }
  schema.categorical = std::move(columns);
}

Status CheckSchemaFits(const Settings& settings) {
  const bool names_columns = NamesColumns(settings.data.text.schema);
  // Without sizes, the data say which tables there are; generated data have no columns.
  const bool has_tables_of_derived = settings.data.text.schema.has_derived() &&
                                     settings.are_tables_given &&
                                     !DeclarationOfDataset(settings.data_source()).is_generated;
  if (!names_columns && !has_tables_of_derived) return OkStatus();
  RETURN_IF_ERROR(CheckNames(settings.data.text.schema, settings.tables));
  if (names_columns) RETURN_IF_ERROR(CheckDenseWidth(settings));
  RETURN_IF_ERROR(CheckTokenWeights(settings));
  return CheckSchema(settings.data.text.schema);
}

}  // namespace rowhouse
