// Names the calling thread, as top, gdb and perf show it.
#pragma once

#include <pthread.h>

#include <string>

namespace rowhouse {

// Longer names are cut to the 15 letters the kernel keeps.
inline void NameThisThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace rowhouse
