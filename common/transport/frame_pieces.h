// Frames as they travel: a large one in pieces, so that a receiver bounds what it must take before
// it has looked at anything. Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/frame.h"

namespace rowhouse {

// The largest piece of a frame on the wire. A frame of so many bytes or more travels in several
// pieces, copied on both sides, which makes pulls a fifth slower, and pushes an eighth. Parts of
// pulls and pushes are smaller: 4 MB, and 20,000 rows of 256 bytes where only rows bound them.
inline constexpr int64_t kMaxPieceBytes = 6 << 20;

// Appends the frame as full pieces and one that is not full, perhaps empty.
void CutFrame(const Frame& frame, Frames* pieces);

// Puts pieces together to frames. No frames at all: one would be larger than `max_bytes`.
Frames JoinFrames(Frames pieces, size_t max_bytes);

}  // namespace rowhouse
