// ReadablePlaces: the directories of its host from which a PS node reads what a job names: rows
// that were saved elsewhere, files of initial values. The paths come from a worker, who may be on
// another host, and may not look around on this one. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

class ReadablePlaces {
 public:
  // Everywhere: the node belongs to the run.
  ReadablePlaces() = default;
  // `row_dir` ("": there is none) and `others`, with all that is below them.
  ReadablePlaces(const std::string& row_dir, const std::vector<std::string>& others);

  // kUsage if `path` is elsewhere, also by a link. It does not say whether there is such a file.
  Status Check(const std::string& path) const;

 private:
  bool is_everywhere_ = true;
  std::vector<std::string> directories_;
};

}  // namespace rowhouse
