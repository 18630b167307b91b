#include "launch/command_line/made_settings.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/durable_file.h"
#include "launch/command_line/foreign_flags.h"
#include "launch/command_line/plan_mode.h"
#include "launch/command_line/verb_flags.h"
#include "launch/model/last_save.h"
#include "launch/settings/setting_fields.h"
#include "launch/settings/strategy_settings.h"
#include "launch/settings/yaml_config.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/schema.h"

namespace rowhouse {
namespace {

bool ScoresModel(const CommandLine& command_line) {
  return command_line.verb == "predict" || command_line.verb == "eval";
}

bool GoesOn(const CommandLine& command_line) {
  return command_line.verb == "train" && command_line.Value("load") == "true";
}

// Whether a flag of one of the sections was given.
bool HasFlagOf(const CommandLine& command_line, std::initializer_list<Section> sections) {
  return std::ranges::any_of(command_line.flags, [&](const GivenFlag& flag) {
    const SettingField* field = FindSettingField(flag.name);
    return field != nullptr && std::ranges::count(sections, field->section) > 0;
  });
}

// The flag that names the model whose config counts where none is given.
std::string_view FlagOfModel(const CommandLine& command_line) {
  if (ScoresModel(command_line)) return "model_dir";
  // Flags that say what the model is say all of it, as DLRM's scripts do.
  if (GoesOn(command_line) && !HasFlagOf(command_line, {Section::kModel})) return "model_dir";
  return kMeasuredFlag;
}

// Of the model or of its last checkpoint: a run that has not ended, or was killed, has its config
// there.
std::string DirectoryOfNewestSave(const std::string& model_dir) {
  const std::vector<uint64_t> steps = CheckpointsOf(model_dir);
  if (steps.empty()) return model_dir;
  const std::string checkpoint = CheckpointDirectory(model_dir, steps.back());
  if (!HasManifest(model_dir)) return checkpoint;
  const Result<Manifest> ended = ReadManifest(model_dir), newest = ReadManifest(checkpoint);
  const bool is_newer = ended.ok() && newest.ok() &&
                        (newest.value().model_id != ended.value().model_id ||
                         newest.value().steps > ended.value().steps);
  return is_newer ? checkpoint : model_dir;
}

// --config; or else, of a plan that is made from a model, of scores by one and of a model that is
// gone on from, the model's own.
std::string ConfigOf(const CommandLine& command_line) {
  const std::string config = command_line.Value(kConfigFlag);
  const std::string_view flag = FlagOfModel(command_line);
  std::string model_dir = command_line.Value(flag);
  if (flag == "model_dir") model_dir = DirectoryOfNewestSave(model_dir);
  return config.empty() && !model_dir.empty() ? model_dir + "/config.yaml" : config;
}

// A model's config.yaml is read only as it was saved.
Status ReadConfigFile(const std::string& path, bool is_of_model, Settings* settings) {
  const std::string directory = std::filesystem::path(path).parent_path();
  if (!is_of_model || !HasManifest(directory)) return ReadYamlConfig(path, settings);
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(directory));
  ASSIGN_OR_RETURN(const std::string text, ReadConfig(directory, manifest));
  return ReadYamlText(text, path, settings);
}

// Without it the data would be read by the defaults, which are not the model's.
Status CheckModelIsNamed(const CommandLine& command_line) {
  if (!command_line.Value("model_dir").empty() || !command_line.Value(kConfigFlag).empty()) {
    return OkStatus();
  }
  if (ScoresModel(command_line)) {
    return UsageError(
        "{} needs --model_dir=DIRECTORY of a saved model, which knows what its data look like",
        command_line.verb);
  }
  if (!GoesOn(command_line)) return OkStatus();
  return UsageError("--load needs --model_dir: the directory of the model to go on from");
}

// Settings of strategies have no effect where a file says who owns what.
Status CheckPlanStandsAlone(const CommandLine& command_line, const Settings& settings) {
  if (settings.sharding.plan.empty()) return OkStatus();
  std::set<std::string> names = SettingsOfStrategies();
  names.insert({"strategy", "access_counts", "pool_on"});
  const bool is_made = AsksForPlanner(settings.sharding.plan);  // by what these two say
  // What a run uses unless the planner gains enough over it.
  if (is_made && command_line.verb == "train") return OkStatus();
  if (is_made) {
    names.erase("access_counts");
    names.erase("hot_rows");
  }
  for (const GivenFlag& flag : command_line.flags) {
    for (const std::string& name : names) {
      // A plan that is looked at may be judged by counts.
      const bool is_of_looking = command_line.verb == "plan" && name == "access_counts";
      if (flag.name != name || is_of_looking) continue;
      if (is_made) {
        return UsageError(
            "{}: --plan={} chooses by itself how each table is placed and who pools it; give only "
            "one",
            flag.Describe(), settings.sharding.plan);
      }
      return UsageError("{}: --plan={} says already which shards own which rows; give only one",
                        flag.Describe(), settings.sharding.plan);
    }
  }
  return OkStatus();
}

// DLRM reads its own copy of the data again; here it helps only where the text is named as well.
Status CheckProcessedFile(const CommandLine& command_line, const Settings& settings) {
  const std::string flag = FindDlrmFlag("processed_data_file")->dlrms_name();
  const auto& ignored = command_line.ignored;
  const bool is_given = std::find(ignored.begin(), ignored.end(), flag) != ignored.end();
  if (!is_given || !settings.data.file.empty()) return OkStatus();
  return UsageError(
      "{}: DLRM's processed copies of the data are not read; give the text file that it was made "
      "from: --data=train.txt",
      flag);
}

// Whether neither flag nor file says how many rows tables have, so that the data do.
bool DataSayTableRows(const Settings& settings) {
  const std::string& source = settings.data_generation;
  const bool reads_file = source == Settings::kOfFile || source.empty();
  return !settings.are_tables_given && !settings.data.file.empty() && reads_file;
}

// Counts Criteo's, as DLRM does. What is only printed needs no data.
Status CountTableRows(bool is_printed, Settings* settings) {
  const DatasetOptions& data = settings->data;
  if (!DataSayTableRows(*settings)) return OkStatus();
  if (DataDirectory::IsAt(data.file)) {
    ASSIGN_OR_RETURN(const auto directory, DataDirectory::Open(data.file));
    const DataColumns& columns = directory->columns();
    settings->SetTableRows(columns.rows);
    for (size_t t = 0; t < settings->tables.size(); ++t) {
      settings->tables[t].name = TableNameOf(columns.categorical[t]);
    }
    return OkStatus();
  }
  if (is_printed) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<uint64_t> rows, CountCriteoIds(data));
  settings->SetTableRows(rows);
  // Tables of buckets come after those of the format's own columns.
  const std::vector<CategoricalColumn>& buckets = data.text.schema.categorical;
  for (size_t i = 0; i < buckets.size() && !data.text.schema.has_columns(); ++i) {
    settings->tables[rows.size() - buckets.size() + i].name = TableNameOf(buckets[i].name);
  }
  settings->are_tables_counted = true;
  return OkStatus();
}

}  // namespace

Status CheckSaysWhatToTrain(const CommandLine& command_line) {
  const bool is_said =
      command_line.verb != "train" || !command_line.ignored.empty() || GoesOn(command_line) ||
      std::ranges::any_of(command_line.flags, [](const GivenFlag& flag) {
        const SettingField* field = FindSettingField(flag.name);
        return field == nullptr ||
               (field->section != Section::kOutput && field->section != Section::kCommandLine);
      });
  if (is_said) return OkStatus();
  return UsageError(
      "train: nothing says what to train. For instance:\n"
      "  rowhouse data infer FILE > my.yaml && rowhouse train --config=my.yaml --data=FILE "
      "--test_fraction=0.2 --model_dir=model\n"
      "  rowhouse train --config=configs/criteo_kaggle.yaml --data=train.txt --model_dir=model\n"
      "  rowhouse train --load --model_dir=model --data=FILE2\n"
      "rowhouse train --help lists the flags");
}

Result<Settings> MakeSettings(const CommandLine& command_line) {
  RETURN_IF_ERROR(CheckModelIsNamed(command_line));
  Settings settings;
  std::string config = ConfigOf(command_line);
  if (GoesOn(command_line) && command_line.Value(kConfigFlag).empty() && !ReadFile(config).ok()) {
    const std::string model_dir = command_line.Value("model_dir");
    if (!command_line.Value("data").empty() && !HasFlagOf(command_line, {Section::kModel})) {
      return UsageError(
          "--load: no model was saved in --model_dir={} ({}/config.yaml is not there); give that "
          "of "
          "a run, or train without --load first",
          model_dir, model_dir);
    }
    config.clear();  // The run says what there is.
  }
  if (!config.empty()) {
    const Status read =
        ReadConfigFile(config, /*is_of_model=*/command_line.Value(kConfigFlag).empty(), &settings);
    if (!read.ok() && command_line.Value(kConfigFlag).empty() && !ReadFile(config).ok()) {
      const std::string_view flag = FlagOfModel(command_line);
      return UsageError("--{}={}: holds no saved model ({}); give the --model_dir of a run", flag,
                        command_line.Value(flag), ReadFile(config).status().message());
    }
    RETURN_IF_ERROR(read);
    // These were for the run before alone.
    if (command_line.Value(kConfigFlag).empty()) {
      settings.training.stop_after_steps = 0;
      settings.cluster.open = false;
      settings.output.report.clear();
    }
  }
  for (const GivenFlag& flag : command_line.flags) {
    const SettingField* field = FindSettingField(flag.name);
    if (field == nullptr) continue;
    RETURN_IF_ERROR(field->set(flag.value, settings).Annotate(flag.Describe()));
  }
  // Files are named behind the command, which takes what options of such data it needs.
  if (command_line.verb == "data" && command_line.arguments.size() > 1 &&
      settings.data_generation.empty()) {
    settings.data_generation = Settings::kOfFile;
  }
  RETURN_IF_ERROR(CheckProcessedFile(command_line, settings));
  RETURN_IF_ERROR(CountTableRows(command_line.Value(kPrintConfigFlag) == "true", &settings));
  // A plan made from a measured run is not the one that run had.
  const bool is_measured = !command_line.Value(kMeasuredFlag).empty();
  if (is_measured && command_line.Value("plan").empty()) {
    settings.sharding.plan.clear();
    if (command_line.Value("strategy").empty()) settings.sharding.strategy = "skew_aware";
  }
  RETURN_IF_ERROR(CheckPlanStandsAlone(command_line, settings));
  settings.Complete();
  if (is_measured) {
    std::vector<std::string> given;
    for (const GivenFlag& flag : command_line.flags) given.push_back(flag.name);
    ForgetIdleStrategySettings(given, &settings);
  }
  return settings;
}

std::string PrintedConfig(const Settings& settings) {
  if (!DataSayTableRows(settings)) return WriteYamlText(settings);
  Settings printed = settings;
  printed.tables.clear();
  return "# No sizes of tables are given: a run counts them in the data when it starts.\n" +
         WriteYamlText(printed);
}

}  // namespace rowhouse
