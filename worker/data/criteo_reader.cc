#include "worker/data/criteo_reader.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <filesystem>
#include <unordered_set>

namespace rowhouse {
namespace {

constexpr int kMaxDays = 24;

std::string DayFile(const std::string& file, int day) { return fmt::format("{}_{}", file, day); }

Result<std::vector<std::string>> FilesOf(const std::string& file, const std::string& data_set) {
  std::error_code ignored;  // What cannot be looked at is said when it is opened.
  if (data_set != "terabyte" || std::filesystem::exists(file, ignored)) return std::vector{file};
  std::vector<std::string> files;
  for (int day = 0; day < kMaxDays; ++day) {
    if (!std::filesystem::exists(DayFile(file, day), ignored)) continue;
    if (static_cast<int>(files.size()) != day) {
      return UsageError(
          "\"{}\" is missing, but \"{}\" is there: data_set terabyte reads days from 0 on without "
          "a gap",
          DayFile(file, static_cast<int>(files.size())), DayFile(file, day));
    }
    files.push_back(DayFile(file, day));
  }
  if (files.empty()) {
    return UsageError("there is neither \"{}\" nor \"{}\"; data_set terabyte reads files of days",
                      file, DayFile(file, 0));
  }
  return files;
}

}  // namespace

Result<CriteoReader> CriteoReader::Open(const std::string& file, const std::string& data_set) {
  ASSIGN_OR_RETURN(std::vector<std::string> files, FilesOf(file, data_set));
  for (const std::string& one : files) RETURN_IF_ERROR(LineReader::Open(one).status());
  return CriteoReader(std::move(files));
}

Result<bool> CriteoReader::Next(CriteoLine* line) {
  for (;;) {
    if (!reader_) {
      if (next_file_ == files_.size()) return false;
      ASSIGN_OR_RETURN(LineReader opened, LineReader::Open(files_[next_file_]));
      reader_.emplace(std::move(opened));
      ++next_file_;
      blank_line_ = 0;
    }
    std::string_view text;
    ASSIGN_OR_RETURN(const bool more, reader_->Next(&text));
    if (!more) {
      digests_.push_back(reader_->digest());
      reader_.reset();
      continue;
    }
    if (text.empty()) {
      if (blank_line_ == 0) blank_line_ = reader_->line_number();
      continue;
    }
    const std::string& file = files_[next_file_ - 1];
    if (blank_line_ != 0) {
      return UsageError("{}:{}:1: the line is empty and others follow; remove it", file,
                        blank_line_);
    }
    if (const Status status = ParseCriteoLine(text, line); !status.ok()) {
      return UsageError("{}:{}:{}", file, reader_->line_number(), status.message());
    }
    return true;
  }
}

std::string CriteoReader::digest() const {
  if (digests_.size() == 1) return digests_[0];
  const std::string all = fmt::format("{}", fmt::join(digests_, " "));
  return fmt::format("{:016x}", XXH3_64bits(all.data(), all.size()));
}

Result<std::vector<uint64_t>> CountCriteoIds(const DatasetOptions& options) {
  ASSIGN_OR_RETURN(CriteoReader reader, CriteoReader::Open(options.file, options.data_set));
  std::vector<std::unordered_set<uint32_t>> seen(CriteoLine::kTokens);
  CriteoLine line;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, reader.Next(&line));
    if (!more) break;
    for (size_t i = 0; i < seen.size(); ++i) {
      seen[i].insert(CriteoToken(line.tokens[i], options.max_ind_range));
    }
  }
  std::vector<uint64_t> rows;
  for (const auto& tokens : seen) rows.push_back(tokens.size());
  if (rows.front() == 0) {
    return UsageError("\"{}\" is empty: there is nothing to train on", options.file);
  }
  return rows;
}

}  // namespace rowhouse
