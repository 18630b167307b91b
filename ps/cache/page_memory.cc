#include "ps/cache/page_memory.h"

#include <glog/logging.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace rowhouse {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

}  // namespace

PageMemory::PageMemory(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)) {
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    PLOG(ERROR) << "no memory of " << bytes_ << " bytes";
    throw std::bad_alloc();  // As operator new does; nobody catches it.
  }
  data_ = static_cast<std::byte*>(memory);
  // A hint: a kernel without huge pages refuses it, and small pages are used.
  if (bytes_ >= kHugePageBytes) madvise(data_, bytes_, MADV_HUGEPAGE);
}

PageMemory::~PageMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

PageMemory::PageMemory(PageMemory&& other) noexcept { *this = std::move(other); }

PageMemory& PageMemory::operator=(PageMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(released_, other.released_);
  std::swap(data_, other.data_);
  return *this;
}

void PageMemory::ReleaseBelow(size_t end) {
  end = end / kHugePageBytes * kHugePageBytes;
  if (end <= released_) return;
  PCHECK(madvise(data_ + released_, end - released_, MADV_DONTNEED) == 0);
  released_ = end;
}

}  // namespace rowhouse
