// The data of a run: opened by every worker, after text was prepared once a host and the model's
// preprocessing is on every host.
#pragma once

#include <memory>

#include "common/status.h"
#include "launch/run/run_start.h"
#include "launch/run/worker_run.h"
#include "worker/data/convert/prepared_text.h"
#include "worker/data/dataset.h"

namespace rowhouse {

struct RunData {
  std::unique_ptr<Dataset> data;
  // On the worker that prepared its host's text. Saves hard-link (or copy) its preprocessing files,
  // so keep it as long as `data`.
  std::unique_ptr<PreparedText> text;
};

// Collective; all workers return OK or the same error. `start`: of a loaded model, or empty. The
// files of the model's preprocessing lie on the first worker's host and are sent to the others.
// Text is mapped with the model's preprocessing; a data directory must have been made with an equal
// one (kUsage names the command that makes it).
//
// Preparing text may take hours. Meanwhile the workers meet a few times a second, so that one that
// is lost is missed at the usual deadline; the worker that prints says how far it is, and a stop
// signal ends it (kUnavailable).
Result<RunData> OpenRunData(const WorkerSetup& setup, const RunStart& start);

}  // namespace rowhouse
