// What a run and launch/mpirun.sh --max_restarts tell each other. From it the script knows how far
// a killed run came, and the run's report says what restarts cost:
//
//   ROWHOUSE_RESTARTS       to all ranks: the failures so far,
//                           [{"why": "...", "reached_step": 812, "stopped_at": 1764000000.5,
//                             "from_step": 800, "began_at": 1764000004.1}, ...]; times are seconds
//                           since 1970. from_step and began_at of the last one are null: the run
//                           itself knows them
//   <model_dir>/steps_done  from the first worker: "800 1764000004.100 00000812", the step that the
//                           run began from, when, and its last step. The file's time of change is
//                           that step's
//
// Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/report/report.h"

namespace rowhouse {

class Restarts {
 public:
  // Null if nothing starts this run again. Else writes the file, now that rows are this run's. A
  // file that cannot be written leaves the script without it: a warning says so.
  static std::unique_ptr<Restarts> Begin(const std::string& model_dir, uint64_t first_step);
  ~Restarts();
  Restarts(const Restarts&) = delete;
  Restarts& operator=(const Restarts&) = delete;

  void AfterStep(uint64_t steps) const;

  const std::vector<RunReport::Restart>& before() const { return before_; }
  // "restarts: 2, by which 31 steps were trained again and 12.4 s passed\n"; "": none.
  std::string SummaryText() const;

 private:
  Restarts() = default;

  std::vector<RunReport::Restart> before_;
  int fd_ = -1;
  size_t steps_at_ = 0;  // where in the file the last number begins
};

}  // namespace rowhouse
