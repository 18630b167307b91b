// WaitPicture: who waits for whom in a run, and the root of it, from what its processes have
// answered. A pure function.
#pragma once

#include <string>
#include <vector>

#include "common/inquiry/waits.h"

namespace rowhouse {

// For people: a line for each answer and for each silent member, and the root: whom others wait
// for, directly or not, and who itself waits for nobody or said nothing. Where some wait for each
// other, that is said. `members`: who was asked, with rank, pid and host. A peer that is no member
// counts as one that is not asked.
std::string WaitPicture(const std::vector<std::string>& members, const std::vector<Waits>& answers);

}  // namespace rowhouse
