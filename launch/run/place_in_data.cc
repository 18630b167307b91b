#include "launch/run/place_in_data.h"

#include <fmt/core.h>

#include <cstdio>

#include "common/clean_text.h"
#include "common/counted.h"
#include "launch/run/prepared_run.h"
#include "launch/settings/going_on.h"
#include "worker/mpi/agreement.h"
#include "worker/train/trainer.h"

namespace rowhouse {
namespace {

Status CheckSameOnAllHosts(const WorkerSetup& setup, const Dataset& data) {
  const std::string digest = data.content_digest();
  ASSIGN_OR_RETURN(const std::string of_first,
                   BroadcastFromFirst(setup.workers, digest, "comparing the data"));
  Status status;
  if (digest != of_first) {
    status = UsageError(
        "--data={} is another file on this worker's host than on the first worker's (digest {}, "
        "there {}); give all hosts the same",
        setup.settings.data.file, digest, of_first);
  }
  return Agree(setup.workers, status, "comparing the data");
}

// Whether step s of an epoch reads the samples that it read in the model's last run.
bool IsSameData(const Settings& settings, const LoadSpec& load, const Dataset& data,
                uint64_t steps_per_epoch) {
  // Some data have no digest.
  const bool has_same_content =
      load.data_digest.empty() || load.data_digest == data.content_digest();
  return has_same_content && load.data_settings == DataSettingsDigest(settings) &&
         load.steps_per_epoch == steps_per_epoch;
}

std::string NameOf(const Settings& settings) {
  return settings.data.file.empty() ? settings.data_generation : settings.data.file;
}

void PrintPlace(const WorkerSetup& setup, const RunStart& start, const Dataset& data,
                bool is_same) {
  const Settings& settings = setup.settings;
  const LoadSpec& load = start.job.load;
  const TrainerOptions options = TrainerOptionsOf(settings, start.job);
  const std::string model = fmt::format("going on from step {} of the model in {} (rows digest {})",
                                        load.step, settings.output.model_dir, start.rows_digest);
  if (is_same) {
    const PlaceInData place = PlaceAfter(load.step, data, options);
    PrintClean("{}, on the same data: at sample {} of epoch {}\n", model, place.sample,
               place.epoch);
  } else {
    const bool has_same_content =
        !load.data_digest.empty() && load.data_digest == data.content_digest();
    PrintClean("{}, on other {}, {} (digest {}, was {}): from the first sample, for {}\n", model,
               has_same_content ? "samples of the same data" : "data", NameOf(settings),
               data.content_digest().empty() ? "none" : data.content_digest(),
               load.data_digest.empty() ? "none" : load.data_digest,
               Counted(settings.training.nepochs, "epoch"));
  }
  if (!start.changes.empty()) PrintClean("changed since its last run: {}\n", start.changes);
  std::fflush(stdout);
}

}  // namespace

Status FindPlaceInData(const WorkerSetup& setup, RunStart* start, Dataset& data) {
  RETURN_IF_ERROR(CheckSameOnAllHosts(setup, data));
  JobSpec& job = start->job;
  if (!job.is_load) return OkStatus();
  const Settings& settings = setup.settings;
  const bool is_same =
      IsSameData(settings, job.load, data, StepsPerEpoch(data, TrainerOptionsOf(settings, job)));
  if (!is_same) job.load.data_first_step = job.load.step;
  const PlaceInData place = PlaceAfter(job.first_step(), data, TrainerOptionsOf(settings, job));
  // Files, such as a preprocessing, are of the model; the position is of the data.
  const DatasetState saved = {.position = is_same ? start->data.position : "",
                              .files = start->data.files};
  RETURN_IF_ERROR(Agree(setup.workers, data.GoOnFrom(place.epoch, place.sample, saved),
                        "going on in the data"));
  if (setup.options.prints) PrintPlace(setup, *start, data, is_same);
  return OkStatus();
}

}  // namespace rowhouse
