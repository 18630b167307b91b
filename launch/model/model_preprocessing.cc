#include "launch/model/model_preprocessing.h"

#include <vector>

namespace rowhouse {

Result<std::shared_ptr<const Preprocessing>> OpenPreprocessing(const std::string& directory,
                                                               const Manifest& manifest) {
  std::vector<PreprocessingFile> files;
  bool is_there = false;
  for (const ModelFile& file : manifest.files) {
    files.push_back({.kind = file.kind, .path = directory + "/" + file.file});
    is_there = is_there || file.kind == "preprocessing";
  }
  if (!is_there) return std::shared_ptr<const Preprocessing>();
  return Preprocessing::OpenFiles(files);
}

}  // namespace rowhouse
