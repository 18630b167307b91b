// Where `rowhouse bench calibrate` writes, checked before it measures for minutes.
//
// Threads: one caller; a file is made beside the path and removed.
#pragma once

#include <string>

#include "common/status.h"

namespace rowhouse {

// `given`: --calibration; "": this host's file in the user's cache folder, which is made. kUsage,
// naming the flag and the path, if nothing can be written there: no such directory, a directory
// itself, no permission; and for "typical", which means built-in figures wherever one is read.
Result<std::string> CalibrationFileToWrite(const std::string& given);

}  // namespace rowhouse
