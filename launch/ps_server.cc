#include "launch/verbs.h"

namespace rowhouse {

Status RunPs(const Settings&) { return Status(StatusCode::kInternal, "not written yet"); }

}  // namespace rowhouse
