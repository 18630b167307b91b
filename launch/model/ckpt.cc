#include "launch/model/ckpt.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/nearest_name.h"
#include "launch/model/ckpt_compact.h"
#include "launch/model/ckpt_figures.h"
#include "launch/model/ckpt_inspect.h"
#include "launch/model/ckpt_stats.h"
#include "launch/model/saved_rows.h"
#include "launch/report/json_output.h"

namespace rowhouse {

Status RunCkpt(const Settings& settings, const std::vector<std::string>& arguments,
               const std::string& given_compression, const std::string& json) {
  const std::vector<std::string> known = {"inspect", "stats", "compact"};
  if (arguments.empty()) return UsageError("ckpt needs one of inspect, stats, compact");
  const std::string& action = arguments[0];
  if (std::find(known.begin(), known.end(), action) == known.end()) {
    return UsageError("unknown action \"{}\" of ckpt {}", action,
                      DescribeKnownNames(action, known));
  }
  const size_t due = action == "inspect" ? 3 : 1;
  if (arguments.size() != due) {
    return UsageError("ckpt {} takes {}, not {} arguments", action,
                      due == 3 ? "TABLE and ID" : "flags only", arguments.size() - 1);
  }
  const std::string& model_dir = settings.output.model_dir;
  if (model_dir.empty()) {
    return UsageError("ckpt {} needs --model_dir=DIRECTORY of a saved model", action);
  }
  const auto carry = [&]() -> Status {
    ASSIGN_OR_RETURN(const SavedRows model, SavedRows::Open(model_dir, settings.storage.row_dir));
    CkptFigures found;
    if (action == "inspect") {
      RETURN_IF_ERROR(InspectRow(model, arguments[1], arguments[2], &found));
    } else if (action == "stats") {
      RETURN_IF_ERROR(CollectStats(model, model_dir, &found));
    } else {
      found.json = nlohmann::ordered_json::array();
      RETURN_IF_ERROR(CompactShards(model, settings.storage, given_compression,
                                    /*prints=*/json != kJsonToStdout, &found.json));
    }
    return DeliverFigures(json, found.json.dump(2) + "\n", found.text);
  };
  return carry().Annotate("--model_dir=" + model_dir);
}

}  // namespace rowhouse
