#include "launch/model/saved_preprocessing.h"

#include <filesystem>

namespace rowhouse {
namespace {

bool IsOfPreprocessing(const std::string& kind) {
  return kind == "preprocessing" || kind.starts_with("vocabulary_");
}

}  // namespace

Result<std::shared_ptr<const Preprocessing>> OpenPreprocessing(const std::string& model_dir,
                                                               const Manifest& manifest) {
  // Their contents have checksums of their own, which are checked when they are read.
  DatasetState state;
  for (const ModelFile& file : manifest.files) {
    if (!IsOfPreprocessing(file.kind)) continue;
    const std::string path = model_dir + "/" + file.file;
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(path, error);
    if (error || bytes != file.bytes) {
      return CorruptionError("{} {}, the manifest says it has {} bytes", path,
                             error ? "cannot be read" : fmt::format("has {} bytes", bytes),
                             file.bytes);
    }
    state.files.push_back({.kind = file.kind, .bytes = "", .path = path});
  }
  return PreprocessingOf(state);
}

Result<std::shared_ptr<const Preprocessing>> PreprocessingOf(const DatasetState& state) {
  const std::vector<PreprocessingFile> files = PreprocessingFilesOf(state);
  if (files.empty()) return std::shared_ptr<const Preprocessing>();
  return Preprocessing::OpenFiles(files);
}

std::vector<PreprocessingFile> PreprocessingFilesOf(const DatasetState& state) {
  std::vector<PreprocessingFile> files;
  for (const DatasetFile& file : state.files) {
    if (!IsOfPreprocessing(file.kind)) continue;
    files.push_back({.kind = file.kind, .name = "", .path = file.path});
  }
  return files;
}

}  // namespace rowhouse
