#include "launch/model/ckpt.h"

#include <algorithm>

#include "common/nearest_name.h"
#include "launch/figures/json_output.h"
#include "launch/model/model_lock.h"
#include "launch/model/model_settings.h"
#include "launch/model/saved_rows.h"
#include "launch/model/scoring_model.h"

namespace rowhouse {
namespace {

// The settings that the model was trained with, for where it lies now.
Result<Settings> SettingsOfModel(const Settings& given) {
  ASSIGN_OR_RETURN(const Manifest manifest, ReadManifest(given.output.model_dir));
  ASSIGN_OR_RETURN(Settings settings, ReadModelSettings(given.output.model_dir, manifest));
  settings.output.model_dir = given.output.model_dir;
  settings.storage.row_dir = given.storage.row_dir;
  settings.storage.direct_reads = given.storage.direct_reads;
  settings.Complete();
  RETURN_IF_ERROR(settings.Validate(/*reads_data=*/false));
  return settings;
}

Status Export(const Settings& given, const std::vector<std::string>& arguments,
              const CkptFlags& flags, Figures* found) {
  Settings last = given;
  ASSIGN_OR_RETURN(const auto hold, UseSave(flags.step, &last));
  ASSIGN_OR_RETURN(const Settings settings, SettingsOfModel(last));
  ASSIGN_OR_RETURN(const Untrained untrained, FindUntrained(flags.untrained));
  ASSIGN_OR_RETURN(const uint32_t row_bits, FindQuantisedBits(flags.row_bits));
  RETURN_IF_ERROR(ExportModel(settings,
                              {.out = flags.out,
                               .format = flags.format,
                               .is_stored = flags.is_stored,
                               .untrained = untrained,
                               .row_bits = row_bits,
                               .tables = {arguments.begin() + 1, arguments.end()},
                               .prints = flags.json != kJsonToStdout},
                              &found->json));
  const std::string digest = found->json["model_digest"];
  found->Say("exported to {}: model digest {}\n", flags.out,
             digest.empty() ? "not known: it was saved without a rows digest" : digest);
  return OkStatus();
}

// `what`: row=NUMBER, a token of the data, or, of a model that has no preprocessing for the table,
// a row's number.
Status Inspect(const Settings& given, const SavedRows& model, const std::string& table,
               const std::string& what, Figures* found) {
  constexpr std::string_view kRow = "row=";
  if (what.starts_with(kRow)) return InspectRow(model, table, what.substr(kRow.size()), found);
  ASSIGN_OR_RETURN(const std::shared_ptr<const Preprocessing> preprocessing,
                   OpenPreprocessing(given.output.model_dir, model.manifest()));
  if (preprocessing == nullptr ||
      ColumnOf(*preprocessing, table) == preprocessing->schema().categorical.size()) {
    return InspectRow(model, table, what, found);
  }
  ASSIGN_OR_RETURN(const Settings settings, SettingsOfModel(given));
  return InspectToken(model, settings.embedding, *preprocessing, table, what, found);
}

}  // namespace

Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const CkptFlags& flags) {
  const std::vector<std::string> known = {"inspect", "stats",  "verify",
                                          "compact", "export", "reshard"};
  if (arguments.empty()) {
    return UsageError("ckpt needs one of {}", fmt::join(known, ", "));
  }
  const std::string& action = arguments[0];
  if (std::find(known.begin(), known.end(), action) == known.end()) {
    return UsageError("unknown action \"{}\" of ckpt {}", action,
                      DescribeKnownNames(action, known));
  }
  const size_t due = action == "inspect" ? 3 : 1;  // launch/reshard/reshard.h carries out reshard.
  if (action != "export" && arguments.size() != due) {
    return UsageError("ckpt {} takes {}, not {} arguments", action,
                      due == 3 ? "TABLE and TOKEN or row=NUMBER" : "flags only",
                      arguments.size() - 1);
  }
  if (!flags.step.empty() && action != "export") {
    return UsageError("--step={}: it is for ckpt export, and the action is {}", flags.step, action);
  }
  const std::string& model_dir = settings.output.model_dir;
  if (model_dir.empty()) {
    return UsageError("ckpt {} needs --model_dir=DIRECTORY of a saved model", action);
  }
  if (action == "export") {
    Figures found;
    RETURN_IF_ERROR(Export(settings, arguments, flags, &found));
    return DeliverFigures(flags.json, found);
  }
  const auto carry = [&]() -> Status {
    Figures found;
    if (action == "verify") {
      const Status whole = VerifyModel(model_dir, settings.storage, &found);
      RETURN_IF_ERROR(DeliverFigures(flags.json, found));
      return whole;
    }
    ASSIGN_OR_RETURN(const auto lock, action == "compact" ? LockModelForRun(model_dir)
                                                          : LockModelForReading(model_dir));
    ASSIGN_OR_RETURN(const SavedRows model, SavedRows::Open(model_dir, settings.storage.row_dir));
    if (action == "inspect") {
      RETURN_IF_ERROR(Inspect(settings, model, arguments[1], arguments[2], &found));
    } else if (action == "stats") {
      RETURN_IF_ERROR(CollectStats(model, model_dir, &found));
    } else {
      found.json = nlohmann::ordered_json::array();
      RETURN_IF_ERROR(CompactShards(model_dir, model, settings.storage, flags.compression,
                                    /*prints=*/flags.json != kJsonToStdout, &found.json));
    }
    return DeliverFigures(flags.json, found);
  };
  return carry().Annotate("--model_dir=" + model_dir);
}

}  // namespace rowhouse
