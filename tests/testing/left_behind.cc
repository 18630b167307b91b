#include "tests/testing/left_behind.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

std::string FileOf(pid_t pid, const char* name) {
  std::ifstream in(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string WhatIsThere(const std::string& directory) {
  std::string text;
  for (const pid_t pid : ProcessesWithTmpdir(directory)) {
    std::string arguments = FileOf(pid, "cmdline");
    std::replace(arguments.begin(), arguments.end(), '\0', ' ');
    text += fmt::format("process {}: {}\n", pid, arguments);
  }
  std::error_code ignored;  // What vanishes meanwhile is not left.
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    text += fmt::format("file {}\n", entry.path().string());
  }
  return text;
}

}  // namespace

std::vector<pid_t> ProcessesWithTmpdir(const std::string& directory) {
  const std::string entry = "TMPDIR=" + directory;
  std::vector<pid_t> pids;
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const std::string name = process.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    // Empty for those that have ended. Between zeros, so that no longer path counts.
    const std::string environment = '\0' + FileOf(pid, "environ") + '\0';
    if (environment.find('\0' + entry + '\0') != std::string::npos) pids.push_back(pid);
  }
  return pids;
}

std::string LeftBehind(const std::string& directory, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    std::string left = WhatIsThere(directory);
    if (left.empty() || std::chrono::steady_clock::now() >= end) return left;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace rowhouse
