#include "launch/verbs.h"

namespace rowhouse {

Status RunBench(const BenchRequest&) { return Status(StatusCode::kInternal, "not written yet"); }

}  // namespace rowhouse
