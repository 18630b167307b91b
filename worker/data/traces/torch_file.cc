#include "worker/data/traces/torch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/durable_file.h"
#include "worker/data/text/byte_stream.h"
#include "worker/data/traces/tensor_pickle.h"
#include "worker/data/traces/zip_directory.h"

namespace rowhouse {
namespace {

Status CopyTo(ByteStream& stream, int file, const std::string& path) {
  std::vector<char> buffer(size_t{1} << 20);
  for (;;) {
    ASSIGN_OR_RETURN(const size_t bytes, stream.Read(buffer.data(), buffer.size()));
    RETURN_IF_ERROR(WriteAll(file, {buffer.data(), bytes}, path));
    if (bytes < buffer.size()) return OkStatus();
  }
}

// The file's bytes, uncompressed, in memory as far as somebody looks at them.
Result<std::shared_ptr<const MappedFile>> MapUncompressed(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, ByteStream::Open(path));
  if (*stream->compression() == '\0') {
    char first = 0;  // which tells whether the file is compressed
    RETURN_IF_ERROR(stream->Read(&first, 1).status());
  }
  if (*stream->compression() == '\0') {
    Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
    if (!file.ok()) return UsageError("{}", file.status().message());
    return file;
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> again, ByteStream::Open(path));
  std::error_code error;
  std::string temporary = std::filesystem::temp_directory_path(error).string() + "/rowhouse-XXXXXX";
  const int file = mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return StatusFromErrno(errno, "make", temporary);
  const Status copied = CopyTo(*again, file, temporary);
  close(file);
  Result<std::shared_ptr<const MappedFile>> mapped = MappedFile::Open(temporary);
  unlink(temporary.c_str());
  return copied.ok() ? mapped : copied;
}

bool IsInCOrder(const PickledTensor& tensor) {
  if (tensor.strides.size() != tensor.shape.size()) return false;
  uint64_t stride = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    if (tensor.shape[d] > 1 && tensor.strides[d] != stride) return false;
    if (__builtin_mul_overflow(stride, std::max<uint64_t>(tensor.shape[d], 1), &stride)) {
      return false;
    }
  }
  return true;
}

const ZipMember* MemberNamed(const std::vector<ZipMember>& members, const std::string& name) {
  const auto found = std::ranges::find(members, name, &ZipMember::name);
  return found == members.end() ? nullptr : &*found;
}

Result<size_t> ElementBytesOf(const PickledTensor& tensor) {
  if (tensor.storage_type == "IntStorage") return size_t{4};
  if (tensor.storage_type == "LongStorage") return size_t{8};
  return CorruptionError("holds a tensor of {}, not of int64 or int32", tensor.storage_type);
}

Result<TorchTensor> TensorOf(const PickledTensor& pickled, const std::vector<ZipMember>& members,
                             const std::string& folder) {
  TorchTensor tensor{.shape = pickled.shape};
  ASSIGN_OR_RETURN(tensor.element_bytes, ElementBytesOf(pickled));
  if (!IsInCOrder(pickled)) return CorruptionError("holds a tensor that is not contiguous");
  const ZipMember* const member = MemberNamed(members, folder + "data/" + pickled.storage);
  if (member == nullptr) return CorruptionError("lacks the values of a tensor");
  uint64_t elements = 1;
  for (const uint64_t size : tensor.shape) {
    if (__builtin_mul_overflow(elements, size, &elements)) elements = UINT64_MAX;
  }
  const uint64_t there = member->bytes.size() / tensor.element_bytes;
  if (pickled.offset > there || elements > there - pickled.offset) {
    return CorruptionError("holds fewer values than a tensor has");
  }
  tensor.bytes =
      member->bytes.subspan(pickled.offset * tensor.element_bytes, elements * tensor.element_bytes);
  return tensor;
}

Result<std::vector<TorchTensor>> TensorsOf(const std::vector<PickledTensor>& pickled,
                                           const std::vector<ZipMember>& members,
                                           const std::string& folder) {
  std::vector<TorchTensor> tensors;
  for (const PickledTensor& tensor : pickled) {
    ASSIGN_OR_RETURN(TorchTensor read, TensorOf(tensor, members, folder));
    tensors.push_back(std::move(read));
  }
  return tensors;
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<std::vector<TorchTensor>> ReadArchive(std::span<const std::byte> archive) {
  ASSIGN_OR_RETURN(const std::vector<ZipMember> members, ReadZipDirectory(archive));
  constexpr std::string_view kPickle = "data.pkl";
  const auto pickle = std::ranges::find_if(
      members, [&](const ZipMember& member) { return member.name.ends_with(kPickle); });
  if (pickle == members.end()) return CorruptionError("is a ZIP archive, but none of torch.save");
  const std::string folder = pickle->name.substr(0, pickle->name.size() - kPickle.size());
  std::string_view text = TextOf(pickle->bytes);
  ASSIGN_OR_RETURN(const std::vector<PickledTensor> pickled, ReadTensorPickle(&text));
  return TensorsOf(pickled, members, folder);
}

// Storages behind the pickles of a file of before torch 1.6: of each the number of elements, u64,
// and the elements, in the order of `names`.
Result<std::vector<ZipMember>> ReadStorages(std::span<const std::byte> bytes,
                                            const std::vector<std::string>& names,
                                            const std::vector<PickledTensor>& tensors) {
  std::vector<ZipMember> members;
  for (const std::string& name : names) {
    const auto tensor = std::ranges::find(tensors, name, &PickledTensor::storage);
    if (tensor == tensors.end()) return CorruptionError("holds values of no tensor");
    ASSIGN_OR_RETURN(const uint64_t width, ElementBytesOf(*tensor));
    uint64_t elements = 0;
    if (bytes.size() < sizeof(elements)) return CorruptionError("lacks the values of a tensor");
    std::memcpy(&elements, bytes.data(), sizeof(elements));
    bytes = bytes.subspan(sizeof(elements));
    if (elements > bytes.size() / width) {
      return CorruptionError("holds fewer values than a tensor has");
    }
    members.push_back({.name = "data/" + name, .bytes = bytes.first(elements * width)});
    bytes = bytes.subspan(elements * width);
  }
  return members;
}

// After kTorchBefore16: a pickle of what wrote it, one of the tensors, one of their storages'
// names.
Result<std::vector<TorchTensor>> ReadOlderForm(std::span<const std::byte> bytes) {
  std::string_view text = TextOf(bytes.subspan(kTorchBefore16.size()));
  RETURN_IF_ERROR(SkipPickle(&text));
  ASSIGN_OR_RETURN(const std::vector<PickledTensor> pickled, ReadTensorPickle(&text));
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadTextPickle(&text));
  ASSIGN_OR_RETURN(const std::vector<ZipMember> storages,
                   ReadStorages(bytes.last(text.size()), names, pickled));
  return TensorsOf(pickled, storages, "");
}

Result<std::vector<TorchTensor>> ReadTensors(std::span<const std::byte> bytes) {
  return TextOf(bytes).starts_with(kTorchBefore16) ? ReadOlderForm(bytes) : ReadArchive(bytes);
}

}  // namespace

int64_t TorchTensor::operator[](uint64_t i) const {
  if (element_bytes == sizeof(int32_t)) {
    int32_t value;
    std::memcpy(&value, &bytes[i * sizeof(value)], sizeof(value));
    return value;
  }
  int64_t value;
  std::memcpy(&value, &bytes[i * sizeof(value)], sizeof(value));
  return value;
}

Result<TorchFile> TorchFile::Open(const std::string& path) {
  TorchFile file;
  ASSIGN_OR_RETURN(file.file_, MapUncompressed(path));
  Result<std::vector<TorchTensor>> tensors = ReadTensors(file.file_->bytes());
  if (!tensors.ok()) return UsageError("{}: {}", path, tensors.status().message());
  file.tensors_ = std::move(tensors).value();
  return file;
}

}  // namespace rowhouse
