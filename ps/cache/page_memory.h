// PageMemory: zeroed memory straight from the system: pages come on first touch, huge ones where
// the system allows (transparent huge pages at "madvise" or "always"), and may be given back
// piecewise.
#pragma once

#include <cstddef>

namespace rowhouse {

class PageMemory {
 public:
  PageMemory() = default;
  // Ends the program if the system has no addresses left.
  explicit PageMemory(size_t bytes);
  ~PageMemory();
  PageMemory(PageMemory&& other) noexcept;
  PageMemory& operator=(PageMemory&& other) noexcept;

  std::byte* data() const { return data_; }

  // Gives back what lies whole below `end` bytes; it is zero from then on.
  void ReleaseBelow(size_t end);

 private:
  size_t bytes_ = 0;
  size_t released_ = 0;  // below here
  std::byte* data_ = nullptr;
};

}  // namespace rowhouse
