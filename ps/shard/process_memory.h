// Memory of this process and of its host, by Linux. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rowhouse {

// Peak resident bytes so far, code and libraries included (VmHWM of Linux); 0: not known.
uint64_t PeakBytesOfProcess();

// Of a line "VmRSS:   123 kB" of a file such as /proc/self/status or /proc/meminfo: `field` is
// "VmRSS:". 0: it is not there.
uint64_t BytesOfField(const std::string& path, std::string_view field);

}  // namespace rowhouse
