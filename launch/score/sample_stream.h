// SampleStream: the samples that are scored, in their order, in pieces that several threads read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/settings.h"
#include "worker/data/batch.h"

namespace rowhouse {

// Consecutive samples.
struct SamplePiece {
  std::string name;  // for messages: "samples 4096 to 8191"
  // Overwrites *batch with them; adds what was left out, as messages, to *bad_lines. Any thread.
  std::function<Status(Batch* batch, std::vector<std::string>* bad_lines)> read;
};

class SampleStream {
 public:
  virtual ~SampleStream() = default;

  // False at the end. Threads: one call at a time.
  virtual Result<bool> Take(SamplePiece* piece) = 0;
};

// What the stream is of.
enum class SamplesOf {
  kFile,      // all samples of settings.data.file, in file order
  kTestPart,  // the test samples of the data of a run with these settings
};

// Text is mapped by settings.data.text.preprocessing, the model's; without one, by the source's own
// settings. kUsage for data that cannot be read, that do not fit the model, or that have no samples
// to test. `times`: pieces are this many times as large as is best for rows in memory.
Result<std::unique_ptr<SampleStream>> OpenSampleStream(const Settings& settings, SamplesOf what,
                                                       size_t times = 1);

}  // namespace rowhouse
