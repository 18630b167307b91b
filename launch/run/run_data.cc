#include "launch/run/run_data.h"

#include <string>

#include "launch/model/saved_preprocessing.h"
#include "launch/run/host_leaders.h"
#include "launch/run/shared_preprocessing.h"
#include "launch/run/text_preparation.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

// Data that were mapped before the run must have been mapped as the model's were. *model: null if
// it kept no preprocessing.
Status CheckMapping(const Settings& settings, const Preprocessing* model, Dataset& data) {
  ASSIGN_OR_RETURN(const DatasetState state, data.StateAt(0, 0));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Preprocessing> of_data, PreprocessingOf(state));
  const std::string& model_dir = settings.output.model_dir;
  if (model == nullptr) {
    if (of_data == nullptr || IsWithoutMemory(of_data->schema())) return OkStatus();
    return UsageError(
        "--load: the model in {} was saved without a preprocessing, and --data={} have "
        "dictionaries "
        "or standardised columns of their own: their ids are not the model's; train anew",
        model_dir, settings.data.file);
  }
  if (of_data != nullptr && of_data->digest() == model->digest()) return OkStatus();
  return UsageError(
      "--load: --data={} were not mapped as the data of the model in {} were (preprocessing {}, "
      "the "
      "model's is {}): give the text they were made from, or convert it with rowhouse data convert "
      "FILE --out=DIR --model_dir={}",
      settings.data.file.empty() ? settings.data_generation : settings.data.file, model_dir,
      of_data == nullptr ? "none" : of_data->digest(), model->digest(), model_dir);
}

}  // namespace

Result<RunData> OpenRunData(const WorkerSetup& setup, const RunStart& start) {
  const Settings& settings = setup.settings;
  Communicator& workers = setup.workers;
  const DatasetDeclaration& source = DeclarationOfDataset(settings.data_source());
  ASSIGN_OR_RETURN(const HostLeaders hosts, HostLeaders::Find(workers, setup.options.host));
  DatasetOptions options = settings.data;
  if (source.adjust != nullptr) source.adjust(&options);
  ASSIGN_OR_RETURN(options.preprocessing, SharePreprocessing(setup, hosts, start.data));
  RunData run;
  if (source.reads_text) {
    ASSIGN_OR_RETURN(run.text, PrepareTextOnHosts(setup, hosts, &options));
  }
  Result<std::unique_ptr<Dataset>> opened = Datasets().Make(settings.data_source(), options);
  RETURN_IF_ERROR(Agree(workers, opened.status(), "opening the data"));
  run.data = std::move(opened).value();
  if (run.text) run.text->DropSamples();
  if (!start.job.is_load) return run;
  RETURN_IF_ERROR(Agree(workers, CheckMapping(settings, options.preprocessing.get(), *run.data),
                        "comparing the preprocessing"));
  return run;
}

}  // namespace rowhouse
