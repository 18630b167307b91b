// ScoreFile: the lines that `rowhouse predict` writes: a sample's score and, where the data have
// labels, a tab and its label. Numbers have as many digits as it takes to read them back.
//
// A file gets its name when it is whole (common/new_file.h). Threads: one.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>

#include "common/new_file.h"
#include "common/status.h"

namespace rowhouse {

class ScoreFile {
 public:
  // "-": standard output. kUsage if it cannot be made there.
  static Result<std::unique_ptr<ScoreFile>> Create(const std::string& path);
  // Removes what was written, unless Finish was called.
  ~ScoreFile();
  ScoreFile(const ScoreFile&) = delete;
  ScoreFile& operator=(const ScoreFile&) = delete;

  // `labels`: as many as scores, or none. kResourceExhausted if the disk is full.
  Status Append(std::span<const float> scores, std::span<const float> labels);

  // Makes the file whole, durable, and gives it its name.
  Status Finish();

 private:
  explicit ScoreFile(std::string path) : path_(std::move(path)) {}
  Status WriteText();

  const std::string path_;         // for errors
  std::unique_ptr<NewFile> file_;  // null: a stream
  int stream_ = -1;                // standard output, a device or a pipe
  std::string text_;
};

}  // namespace rowhouse
