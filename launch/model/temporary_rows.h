// A directory below TMPDIR for the rows of one server process alone.
//
// The server removes it when it ends. One that was killed cannot: the supervisor, which sees the
// death, does.
#pragma once

#include <memory>

#include "common/temporary_directory.h"

namespace rowhouse {

// OK if MakeTemporaryRows() may well succeed: to be found out before a server is started.
Status CheckTemporaryRows();
// "<TMPDIR or /tmp>/rowhouse-rows-XXXXXX". kUsage where that is impossible.
Result<std::unique_ptr<TemporaryDirectory>> MakeTemporaryRows();
// Removes what servers of this host left that have ended.
void RemoveRowsLeftOver();

}  // namespace rowhouse
