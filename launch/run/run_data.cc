#include "launch/run/run_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/durable_file.h"
#include "common/status.h"
#include "common/temporary_directory.h"
#include "launch/model/model_settings.h"
#include "launch/run/text_preparation.h"
#include "launch/run/worker_run.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/mpi/agreement.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{16} << 20;

// A preprocessing and where its files lie; the directory goes last.
struct KeptPreprocessing {
  std::unique_ptr<TemporaryDirectory> directory;
  std::shared_ptr<const Preprocessing> preprocessing;
};

// Collective: the file of the first worker as `copy` on this one, unless that is "".
Status SendFile(Communicator& workers, const std::string& file, const std::string& copy,
                const std::string& phase) {
  const bool is_first = Raw(workers.rank()) == 0;
  std::ifstream in;
  std::ofstream out;
  Status status;
  if (is_first) {
    in.open(file, std::ios::binary);
    if (!in) status = StatusFromErrno(errno, "open", file);
  }
  if (!copy.empty()) out.open(copy, std::ios::binary);
  for (;;) {
    std::string piece;
    if (is_first && in.good()) {
      piece.resize(kPieceBytes);
      in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      piece.resize(static_cast<size_t>(in.gcount()));
    }
    if (is_first && in.bad()) status = IoError("cannot read {}", file);
    ASSIGN_OR_RETURN(piece, BroadcastFromFirst(workers, piece, phase));
    if (piece.empty()) break;
    if (!copy.empty()) out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  }
  if (!copy.empty()) out.close();
  if (!copy.empty() && !out) {
    status =
        IoError("cannot write {}: the model's preprocessing needs room there; set TMPDIR", copy);
  }
  return Agree(workers, status, phase);
}

// Collective. Null if `saved` has none. Its files lie on the first worker's host; hosts that do not
// see them under the same path get their bytes, piece by piece, into a temporary directory, which
// is gone when its workers have opened them: a vocabulary of any size takes disk there, not memory.
// All workers return OK or the same error.
Result<std::shared_ptr<const Preprocessing>> SharePreprocessing(const WorkerSetup& setup,
                                                                const HostLeaders& hosts,
                                                                const DatasetState& saved) {
  constexpr const char* kPhase = "sharing the model's preprocessing";
  Communicator& workers = setup.workers;
  std::vector<PreprocessingFile> files = PreprocessingFilesOf(saved);
  if (files.empty()) return std::shared_ptr<const Preprocessing>();
  // The names hold checksums: a file of this name is this file.
  const bool has_all = std::ranges::all_of(files, [](const PreprocessingFile& file) {
    std::error_code ignored;
    return fs::exists(file.path, ignored);
  });
  ASSIGN_OR_RETURN(const std::string here,
                   hosts.FromLeader(workers, has_all ? "yes" : "no", kPhase));
  const bool gets_copies = here == "no" && !hosts.is_first_host();
  ASSIGN_OR_RETURN(const auto all_get,
                   workers.AllGather(std::as_bytes(std::span(&gets_copies, 1)), kPhase));
  const bool sends = std::ranges::any_of(
      all_get, [](const std::vector<std::byte>& one) { return one.at(0) != std::byte{0}; });
  // The files stay as long as the preprocessing: a conversion copies them.
  auto kept = std::make_shared<KeptPreprocessing>();
  if (sends) {
    const bool makes_copies = gets_copies && hosts.is_leader();
    Status made;
    if (makes_copies) {
      auto directory = TemporaryDirectory::Make("rowhouse-preprocessing");
      made = directory.status().Annotate("the model's preprocessing");
      if (made.ok()) kept->directory = std::move(directory).value();
    }
    RETURN_IF_ERROR(Agree(workers, made, kPhase));
    ASSIGN_OR_RETURN(
        const std::string place,
        hosts.FromLeader(workers, makes_copies ? kept->directory->path() : "", kPhase));
    for (PreprocessingFile& file : files) {
      const std::string copy = place + "/" + fs::path(file.path).filename().string();
      RETURN_IF_ERROR(SendFile(workers, file.path, makes_copies ? copy : "", kPhase));
      if (gets_copies) file.path = copy;
    }
  }
  auto opened = Preprocessing::OpenFiles(files);
  RETURN_IF_ERROR(Agree(workers, opened.status(), "opening the model's preprocessing"));
  kept->preprocessing = std::move(opened).value();
  return std::shared_ptr<const Preprocessing>(kept, kept->preprocessing.get());
}

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
  source.adjust(&options);
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
