#include "launch/verbs.h"

namespace rowhouse {

Status RunTrain(const Settings&) { return Status(StatusCode::kInternal, "not written yet"); }

}  // namespace rowhouse
