// Security: how the members of a job prove to each other's listeners that they are of it. All know
// one key; who does not is turned away before a message of theirs is read. Threads: plain data.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace rowhouse {

struct Security {
  enum class Kind {
    kOpen,   // nobody is asked
    kPlain,  // a dialer sends the key, in clear: stops who can connect, not who can listen
    kCurve,  // CurveZMQ with one pair of keys made from the key: what is sent is encrypted, too
  };
  Kind kind = Kind::kOpen;
  std::string key;  // 64 hex digits; "" if open
};

// 256 bits of the system's randomness, as 64 hex digits.
std::string NewKey();

// Whether it has the form of NewKey's.
bool IsKey(std::string_view text);

// "plain <key>" or so, for another process of this run.
std::string SecurityText(const Security& security);
// kCorruption for what is not such a text; it is not repeated in the error.
Result<Security> ReadSecurityText(std::string_view text);

}  // namespace rowhouse
