#include "ps/move/move_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "common/digest.h"
#include "common/durable_file.h"
#include "common/json_text.h"
#include "common/kill_point.h"

namespace rowhouse {
namespace {

using Json = nlohmann::json;

std::string LineOf(const Json& json) {
  const std::string text = DumpJson(json);
  return DigestOf(text) + " " + text + "\n";
}

std::string HeadOf(const std::string& move) { return LineOf({{"format", 1}, {"move", move}}); }

Json ToJson(const MovedRange& moved) {
  Json parts = Json::array();
  for (const MovedPart& part : moved.parts) {
    Json files = Json::array();
    for (const RowFile& file : part.files) {
      files.push_back({{"name", file.path}, {"bytes", file.bytes}, {"checksum", file.checksum}});
    }
    parts.push_back({{"shard", Raw(part.shard)},
                     {"rows", part.rows},
                     {"digest", {part.digest.high(), part.digest.low()}},
                     {"files", std::move(files)}});
  }
  return {{"table", Raw(moved.range.table)},
          {"first", Raw(moved.range.first)},
          {"end", Raw(moved.range.end)},
          {"parts", std::move(parts)}};
}

// nullopt for a line that was cut off, or is not as it was written.
std::optional<MovedRange> FromLine(const std::string& line) {
  constexpr size_t kDigest = 32;
  if (line.size() <= kDigest) return std::nullopt;
  const std::string text = line.substr(kDigest + 1);
  const Result<Json> parsed = ParseJson(text);
  if (!parsed.ok() || line.substr(0, kDigest) != DigestOf(text)) return std::nullopt;
  const Json& json = parsed.value();
  try {
    MovedRange moved{.range = {.table = TableId{json.at("table").get<uint32_t>()},
                               .first = RowId{json.at("first").get<uint64_t>()},
                               .end = RowId{json.at("end").get<uint64_t>()}},
                     .parts = {}};
    for (const Json& part : json.at("parts")) {
      MovedPart& one = moved.parts.emplace_back();
      one.shard = ShardId{part.at("shard").get<uint32_t>()};
      one.rows = part.at("rows").get<uint64_t>();
      one.digest = RowsDigest(part.at("digest").at(0).get<uint64_t>(),
                              part.at("digest").at(1).get<uint64_t>());
      for (const Json& file : part.at("files")) {
        one.files.push_back({.path = file.at("name").get<std::string>(),
                             .bytes = file.at("bytes").get<uint64_t>(),
                             .checksum = file.at("checksum").get<std::string>()});
      }
    }
    return moved;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

Result<std::unique_ptr<MoveJournal>> MoveJournal::Open(const std::string& path,
                                                       const std::string& move) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok() && text.status().code() != StatusCode::kNotFound) return text.status();
  std::vector<MovedRange> done;
  const std::string head = HeadOf(move);
  std::string kept = head;
  if (text.ok() && text.value().starts_with(head)) {
    std::istringstream lines(text.value().substr(head.size()));
    for (std::string line; std::getline(lines, line);) {
      std::optional<MovedRange> moved = FromLine(line);
      if (!moved) break;
      done.push_back(std::move(*moved));
      kept += line + "\n";
    }
  }
  RETURN_IF_ERROR(WriteFileDurably(path, kept));
  KillPoint("journal.open");
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return StatusFromErrno(errno, "open", path);
  std::unique_ptr<MoveJournal> journal(new MoveJournal(path, file));
  journal->done_ = std::move(done);
  return journal;
}

bool MoveJournal::IsOf(const std::string& path, const std::string& move) {
  const Result<std::string> text = ReadFile(path);
  return text.ok() && text.value().starts_with(HeadOf(move));
}

MoveJournal::~MoveJournal() { ::close(file_); }

Status MoveJournal::Append(const MovedRange& moved) {
  const std::string line = LineOf(ToJson(moved));
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(WriteAll(file_, line, path_));
  KillPoint("journal.before_sync");
  if (::fdatasync(file_) != 0) return StatusFromErrno(errno, "sync", path_);
  return OkStatus();
}

}  // namespace rowhouse
