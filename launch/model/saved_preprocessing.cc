#include "launch/model/saved_preprocessing.h"

#include <algorithm>

namespace rowhouse {
namespace {

bool IsOfPreprocessing(const std::string& kind) {
  return kind == "preprocessing" || kind.starts_with("vocabulary_");
}

}  // namespace

Result<std::shared_ptr<const Preprocessing>> OpenPreprocessing(const std::string& model_dir,
                                                               const Manifest& manifest) {
  DatasetState state;
  for (const ModelFile& file : manifest.files) {
    if (!IsOfPreprocessing(file.kind)) continue;
    RETURN_IF_ERROR(CheckModelFile(model_dir, file));
    state.files.push_back({.kind = file.kind, .bytes = "", .path = model_dir + "/" + file.file});
  }
  return PreprocessingOf(state);
}

Result<std::shared_ptr<const Preprocessing>> PreprocessingOf(const DatasetState& state) {
  const std::vector<PreprocessingFile> files = PreprocessingFilesOf(state);
  if (files.empty()) return std::shared_ptr<const Preprocessing>();
  return Preprocessing::OpenFiles(files);
}

bool IsWithoutMemory(const Schema& schema) {
  return schema.greatest_movie == 0 &&
         std::ranges::none_of(schema.categorical,
                              [](const auto& column) { return column.ids == "dictionary"; }) &&
         std::ranges::none_of(schema.dense,
                              [](const auto& column) { return column.transform == "standardise"; });
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
