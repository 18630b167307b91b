#include "launch/run/shared_preprocessing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/durable_file.h"
#include "common/temporary_directory.h"
#include "launch/model/saved_preprocessing.h"
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

}  // namespace

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

}  // namespace rowhouse
