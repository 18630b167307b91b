// Frames as peers send them, from the values of a vector.
#pragma once

#include <span>
#include <vector>

#include "common/frame.h"

namespace rowhouse {

template <typename T>
Frame FrameOf(const std::vector<T>& values) {
  return Frame::CopyOf(std::as_bytes(std::span(values)));
}

}  // namespace rowhouse
