// PreparedText: the text that a run reads, as data directories. Workers of a host share one, which
// one of them makes.
//
// Without a cache it lies in "<TMPDIR or /tmp>/rowhouse-data-XXXXXX" and goes with the object; what
// a process left that was killed, the next one on the host removes. In a cache it stays, under a
// name that says what it was made of, and is used again by runs of the same files (path and
// FileIdentity), schema, tables and preprocessing. A run that was stopped while it was made
// leaves what is done there, and the next one goes on.
//
// Threads: one.
#pragma once

#include <memory>
#include <string>

#include "common/status.h"
#include "common/temporary_directory.h"
#include "worker/data/convert/converter.h"
#include "worker/data/dataset.h"

namespace rowhouse {

class PreparedText {
 public:
  // Prepares options.file, and options.test_file with the same preprocessing, unless that is a data
  // directory. `source`: name of a text source. The cache is options.cache. Errors as PrepareText;
  // kUsage if a directory cannot be made.
  static Result<std::unique_ptr<PreparedText>> Make(const std::string& source,
                                                    const DatasetOptions& options,
                                                    const ConversionHooks& hooks = {});
  ~PreparedText();
  PreparedText(const PreparedText&) = delete;
  PreparedText& operator=(const PreparedText&) = delete;

  // DatasetOptions::prepared and prepared_test.
  const std::string& directory() const { return directory_; }
  const std::string& test_directory() const { return test_directory_; }

  // Gives back the room of samples in a temporary directory. Call it when all who read them have
  // opened them. The preprocessing stays: a save of the model links it.
  void DropSamples();

 private:
  // Where it lies.
  struct Place {
    std::string path;
    int lock = -1;                                  // of a cache
    std::unique_ptr<TemporaryDirectory> temporary;  // null: in a cache
  };

  explicit PreparedText(Place place) : place_(std::move(place)) {}

  static Result<Place> MakeTemporary();
  static Result<Place> FindInCache(const std::string& source, const DatasetOptions& options,
                                   const ConversionHooks& hooks);
  Status Prepare(const std::string& source, const DatasetOptions& options,
                 const ConversionHooks& hooks);

  const Place place_;
  std::string directory_, test_directory_;
};

}  // namespace rowhouse
