// PageMemory: zeroed memory straight from the system. Pages are taken on first touch, as huge pages
// where the system allows (transparent huge pages "madvise" or "always"), and can be given back in
// pieces, from the front.
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
  size_t bytes() const { return bytes_; }

  // Gives back the pages that lie below `end` bytes as a whole; they read as zero from then on.
  void ReleaseBelow(size_t end);

 private:
  size_t bytes_ = 0;
  size_t released_ = 0;  // below here
  std::byte* data_ = nullptr;
};

}  // namespace rowhouse
