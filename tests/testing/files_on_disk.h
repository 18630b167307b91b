// FilesOnDisk: the files that lie in a directory, of which one that is drawn is changed as a bad
// disk may change it while nobody has it open: any file, RocksDB's or our own.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "common/durable_file.h"

namespace rowhouse {

enum class FileDamage {
  kFlipped,      // a bit
  kTorn,         // its end is missing
  kMisdirected,  // a block lies in the place of another, of this or another file
  kLost,         // it is as it was when Remember was called, though it changed, came or went since
};

class FilesOnDisk {
 public:
  // `random` outlives it.
  FilesOnDisk(std::string directory, std::mt19937_64& random)
      : directory_(std::move(directory)), random_(random) {}

  void Remember() {
    earlier_.clear();
    for (const std::string& file : Files()) {
      const Result<std::string> bytes = ReadFile(file);  // RocksDB deletes some meanwhile.
      if (bytes.ok()) earlier_[file] = bytes.value();
    }
  }

  // Changes a file. Returns what was done to which; "": there is none to change.
  std::string Change(FileDamage damage) {
    std::vector<std::string> files = Files();
    if (damage == FileDamage::kLost) {
      // What was written, made or deleted since may be lost.
      for (const auto& [file, bytes] : earlier_) files.push_back(file);
      if (earlier_.empty()) files.clear();
      std::erase_if(files, [&](const std::string& file) {
        const auto found = earlier_.find(file);
        if (!std::filesystem::exists(std::filesystem::path(file).parent_path())) return true;
        return found != earlier_.end() && std::filesystem::exists(file) &&
               ReadFile(file).value() == found->second;
      });
    }
    const std::string path = DrawFile(files);
    if (path.empty()) return "";
    std::string done = path.substr(directory_.size());
    std::string bytes = std::filesystem::exists(path) ? ReadFile(path).value() : "";
    switch (damage) {
      case FileDamage::kFlipped: {
        if (bytes.empty()) return done;
        const uint64_t bit = Draw(bytes.size() * 8);
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        done += fmt::format(" bit {} of {} bytes", bit, bytes.size());
        break;
      }
      case FileDamage::kTorn:
        bytes.resize(bytes.empty() ? 0 : Draw(bytes.size()));
        done += fmt::format(" at {}", bytes.size());
        break;
      case FileDamage::kMisdirected: {
        const std::string other = Draw(2) == 0 ? path : DrawFile(files);
        const std::string source = ReadFile(other).value(), before = bytes;
        uint64_t block = 0, from = 0, to = 0;
        for (int tries = 0; bytes == before && tries < 8; ++tries) {
          block = Draw(2) == 0 ? 512 : 4096;
          from = Draw(source.size() / block + 1) * block;
          to = Draw(bytes.size() / block + 1) * block;
          const size_t count = std::min({block, source.size() - from, bytes.size() - to});
          std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), count,
                      bytes.begin() + static_cast<std::ptrdiff_t>(to));
        }
        done += fmt::format(" at {} by {} bytes at {} of {}", to, block, from, other);
        break;
      }
      case FileDamage::kLost: {
        const auto found = earlier_.find(path);
        if (found == earlier_.end()) {
          std::filesystem::remove(path);
          return done;
        }
        bytes = found->second;
        break;
      }
    }
    Overwrite(path, bytes);
    return done;
  }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory_)) {
      if (file.is_regular_file()) files.push_back(file.path().string());
    }
    std::ranges::sort(files);
    return files;
  }
  // One of any kind, and of its files any.
  std::string DrawFile(const std::vector<std::string>& files) {
    std::map<std::string, std::vector<std::string>> kinds;
    for (const std::string& file : files) {
      const std::filesystem::path path(file);
      const std::string name = path.filename().string();
      const std::string kind = path.extension() == ".sst" ? ".sst" : name.substr(0, name.find('-'));
      if (kind != "LOCK") kinds[kind].push_back(file);
    }
    if (kinds.empty()) return "";
    const auto& of_kind =
        std::next(kinds.begin(), static_cast<std::ptrdiff_t>(Draw(kinds.size())))->second;
    return of_kind[Draw(of_kind.size())];
  }
  // In place: other names of the file have the same bytes.
  static void Overwrite(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  const std::string directory_;
  std::mt19937_64& random_;
  std::map<std::string, std::string> earlier_;  // by path
};

}  // namespace rowhouse
