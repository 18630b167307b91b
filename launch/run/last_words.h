// How the process ends when memory or threads run out, which no Status can carry: with one sentence
// on stderr and exit code 1, and without a core dump.
#pragma once

namespace rowhouse {

// Call once, before any thread is started. From then on:
//   an allocation that fails          prints the sentence and ends the process by _exit(1)
//   a thread that cannot be started   does the same
//   libzmq's abort() for want of them does so too; any other abort() stays one
//   any other uncaught exception      prints what it says and ends the process by abort()
void InstallLastWords();

}  // namespace rowhouse
