// Inquiry: an operator asks a process what it waits for, by signal SIGURG, which a process that
// does not hear it ignores. Whoever waits looks at its Inquiry at least once a second and logs the
// answer. Where the processes of a run have a channel, one of them makes a picture of all answers.
//
// Threads: an Inquiry one; everything else any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/clock.h"

namespace rowhouse {

// ---- What a worker or a shard waits for, as it says when it is asked ----------------------------

// Peer of one that waits in a call of all workers: those that have not said the same `what`.
inline constexpr char kOtherWorkers[] = "other workers";

struct Wait {
  std::string peer;  // "worker 2", "shard 4", kOtherWorkers
  std::string what;  // "push of step 3012"
  TimeMs ms = 0;     // 0: not known
  bool operator==(const Wait&) const = default;
};

struct Waits {
  std::string who;  // its first two words are its name: "shard 4 (PS node 2, pid 4711 on a3)"
  std::vector<Wait> waits;
  std::string note;       // what it does, if it waits for no peer; may be ""
  uint64_t left_out = 0;  // further waits, which ToText had no room for
  bool operator==(const Waits&) const = default;
};

// Lines that another process reads: about 3,500 bytes at most, so the last waits may be left out.
std::string ToText(const Waits& waits);
// The reverse. What does not fit is left out.
Waits WaitsFromText(const std::string& text);

// ---- Asking -------------------------------------------------------------------------------------

// From then on this process is asked by SIGURG. System calls that it interrupts go on.
void HearInquiries();

// Carries inquiries and answers (ToText(Waits)) from process to process. Threads: any.
class InquiryChannel {
 public:
  virtual ~InquiryChannel() = default;
  // Called by whoever looks at its Inquiry. `is_asked`: by a signal. Whether it is asked, perhaps
  // by another process.
  virtual bool Hear(bool is_asked) { return is_asked; }
  virtual void Answer(const std::string& waits) = 0;
  // A wait has passed its deadline: all are to be asked.
  virtual void OnDeadline(const std::string& /*waits*/) {}
};

// The channel of this process, until another one; null: none. It outlives its use.
void SetInquiryChannel(InquiryChannel* channel);

// Nothing without a channel.
void HandOnAnswer(const std::string& waits);
void TellOfDeadline(const Waits& waits);

class Inquiry {
 public:
  Inquiry();
  // One a thread: whoever waits first on it answers.
  static Inquiry& OfThisThread();
  // Whether somebody has asked since the last call, or since this was made.
  bool IsAsked();
  // Logs the line, for people, and hands the answer on.
  static void Answer(const std::string& line, const Waits& waits);

 private:
  uint64_t answered_ = 0;
};

}  // namespace rowhouse
