// Bytes of .npy files: as NumPy writes them, or with mistakes.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

namespace rowhouse {

// Magic, format, length and `dict`, padded to 64 bytes as np.save does.
inline std::string NpyHeaderBytes(const std::string& dict, int format = 1) {
  const size_t length_bytes = format == 1 ? 2 : 4;
  std::string text = dict;
  while ((8 + length_bytes + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(format);
  bytes += '\0';
  for (size_t i = 0; i < length_bytes; ++i) bytes += static_cast<char>(text.size() >> 8 * i);
  return bytes + text;
}

inline std::string NpyDict(const std::string& descr, uint64_t rows, uint64_t columns) {
  return fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}, {}), }}", descr, rows,
                     columns);
}

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A matrix of `columns` columns. T: float or double.
template <typename T>
void WriteNpy(const std::string& path, uint64_t columns, std::span<const T> values,
              int format = 1) {
  const std::string descr = sizeof(T) == 4 ? "<f4" : "<f8";
  std::string bytes = NpyHeaderBytes(NpyDict(descr, values.size() / columns, columns), format);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  WriteBytes(path, bytes);
}

}  // namespace rowhouse
