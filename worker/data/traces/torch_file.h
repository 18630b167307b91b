// Tensors of whole numbers in a file of torch.save: a ZIP archive with a pickle, data.pkl, that
// says what there is, and the values of each storage in a member of its own; or, as before
// torch 1.6 (or with _use_new_zipfile_serialization=False), pickles one behind the other, and then
// the values.
//
// A pickle is only read, never run: it may name nothing but torch's tensors and storages, so that
// a file from anywhere does no harm. Threads: const after Open; any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/mapped_file.h"
#include "common/status.h"

namespace rowhouse {

// How files of before torch 1.6 begin: pickles of a magic number, and of the format's, 1001.
inline constexpr std::string_view kTorchBefore16 = {
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.", 21};

// A tensor in C order, where it lies in the file.
struct TorchTensor {
  std::vector<uint64_t> shape;
  size_t element_bytes = 8;  // 8 or 4: int64 or int32
  std::span<const std::byte> bytes;

  uint64_t elements() const { return bytes.size() / element_bytes; }
  // Requires i < elements().
  int64_t operator[](uint64_t i) const;
};

class TorchFile {
 public:
  // kUsage, naming file and reason, unless it is a file of torch.save that holds a tuple or list of
  // such tensors. A file compressed by gzip or zstd is first written, uncompressed, to a temporary
  // file that has no name.
  static Result<TorchFile> Open(const std::string& path);

  const std::vector<TorchTensor>& tensors() const { return tensors_; }
  // As MappedFile.
  Status CheckWhole() const { return file_->CheckWhole(); }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<TorchTensor> tensors_;
};

}  // namespace rowhouse
