// Names the calling thread, as top, gdb and perf show it.
#pragma once

#include <pthread.h>

#include <string>

namespace rowhouse {

// Only the first 15 letters are kept, as the kernel has no room for more.
inline void NameThisThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace rowhouse
