// SmallDisk: a tmpfs for tests of full disks. Where mounting is not allowed mounted() is false,
// errno says why, and the test should be skipped.
#pragma once

#include <glog/logging.h>
#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace rowhouse {

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path, const std::string& bytes = "2m") : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = mount("none", path.c_str(), "tmpfs", 0, ("size=" + bytes).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  void Resize(const std::string& bytes) {
    const std::string options = "size=" + bytes;
    PCHECK(mount("none", path_.c_str(), "tmpfs", MS_REMOUNT, options.c_str()) == 0);
  }
  void Grow() { Resize("64m"); }

 private:
  const std::string path_;
  bool mounted_ = false;
};

}  // namespace rowhouse
