#include "common/transport/frame_pieces.h"

#include <algorithm>

namespace rowhouse {

void CutFrame(const Frame& frame, Frames* pieces) {
  for (size_t at = 0;; at += kMaxPieceBytes) {
    const size_t bytes = std::min<size_t>(kMaxPieceBytes, frame.size() - at);
    pieces->push_back(Frame::CopyOf(frame.bytes().subspan(at, bytes)));
    if (bytes < kMaxPieceBytes) return;
  }
}

Frames JoinFrames(Frames pieces, size_t max_bytes) {
  const auto is_full = [](const Frame& piece) { return piece.size() == kMaxPieceBytes; };
  if (std::none_of(pieces.begin(), pieces.end(), is_full)) return pieces;
  Frames frames;
  for (auto first = pieces.begin(); first != pieces.end();) {
    auto last = std::find_if_not(first, pieces.end(), is_full);
    if (last != pieces.end()) ++last;
    if (last - first == 1) {
      frames.push_back(std::move(*first));
    } else {
      size_t bytes = 0;
      for (auto piece = first; piece != last; ++piece) bytes += piece->size();
      if (bytes > max_bytes) return {};
      Frame& frame = frames.emplace_back(bytes);
      std::byte* to = frame.data();
      for (auto piece = first; piece != last; ++piece) {
        to = std::copy_n(piece->data(), piece->size(), to);
        *piece = Frame();
      }
    }
    first = last;
  }
  return frames;
}

}  // namespace rowhouse
