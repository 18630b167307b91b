// What the process says when it cannot go on for want of memory or threads, which no Status can
// carry: one sentence on stderr, exit code 1, and no core dump.
#pragma once

namespace rowhouse {

// Call once, before any thread. From then on:
//   memory that cannot be had       ends the process by _exit(1)
//   a thread that cannot be had     the same
//   any other exception             is told, and ends it by abort()
void InstallLastWords();

}  // namespace rowhouse
