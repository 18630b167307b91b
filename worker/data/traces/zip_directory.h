// The directory of a ZIP archive whose members are stored as they are, as torch.save writes it.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"

namespace rowhouse {

struct ZipMember {
  std::string name;
  std::span<const std::byte> bytes;  // of the archive
};

// Members in the order of the directory (APPNOTE.TXT 6.3, with ZIP64). kCorruption, as the rest of
// a sentence about the file, for other bytes and for members that are compressed or encrypted.
Result<std::vector<ZipMember>> ReadZipDirectory(std::span<const std::byte> archive);

}  // namespace rowhouse
