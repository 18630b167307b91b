#include "worker/data/convert/conversion_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

#include "common/durable_file.h"
#include "common/json_text.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr char kIdentityName[] = "conversion.json";
constexpr char kJournalName[] = "chunks.journal";

// What the journal has of a chunk: this, its blocks, and a checksum of both, which tells an entry
// that was torn by a crash.
struct JournalEntry {
  uint32_t file, lines, samples, bad_lines, blocks;
};
static_assert(sizeof(JournalEntry) == 20 && sizeof(BlockPlace) == 32);

uint64_t CheckOf(std::string_view entry, size_t number) {
  return XXH3_64bits_withSeed(entry.data(), entry.size(), number);
}

template <typename Value>
void AppendBytes(const Value& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string EntryOf(const ConvertedChunk& chunk, size_t number) {
  std::string entry;
  AppendBytes(JournalEntry{chunk.file, chunk.lines, chunk.samples, chunk.bad_lines,
                           static_cast<uint32_t>(chunk.blocks.size())},
              &entry);
  for (const BlockPlace& block : chunk.blocks) AppendBytes(block, &entry);
  AppendBytes(CheckOf(entry, number), &entry);
  return entry;
}

// Takes the first entry, which is number `number`, off *text; false: there is no whole one.
bool TakeEntry(size_t number, std::string_view* text, ConvertedChunk* chunk) {
  JournalEntry entry;
  if (text->size() < sizeof(entry)) return false;
  std::memcpy(&entry, text->data(), sizeof(entry));
  const size_t size = sizeof(entry) + entry.blocks * sizeof(BlockPlace);
  uint64_t check = 0;
  if (text->size() < size + sizeof(check)) return false;
  std::memcpy(&check, text->data() + size, sizeof(check));
  if (check != CheckOf(text->substr(0, size), number)) return false;
  *chunk = {entry.file, entry.lines, entry.samples, entry.bad_lines};
  for (size_t at = sizeof(entry); at < size; at += sizeof(BlockPlace)) {
    std::memcpy(&chunk->blocks.emplace_back(), text->data() + at, sizeof(BlockPlace));
  }
  text->remove_prefix(size + sizeof(check));
  return true;
}

// A change within the tick of the file system's clock in which an earlier one fell would leave the
// time of change (ctime) as it is. So whoever notes that time lets the tick pass first: up to 10 ms
// by the kernel's clock, and two seconds where times are whole seconds.
void LetClockPass(const struct stat& facts) {
  using std::chrono::nanoseconds, std::chrono::seconds, std::chrono::milliseconds;
  const nanoseconds tick = facts.st_ctim.tv_nsec == 0 ? nanoseconds(seconds(2)) : milliseconds(20);
  const nanoseconds changed = seconds(facts.st_ctim.tv_sec) + nanoseconds(facts.st_ctim.tv_nsec);
  const nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  if (now - changed < tick) std::this_thread::sleep_for(tick);
}

}  // namespace

Result<std::string> FileIdentity(const std::string& path) {
  constexpr off_t kPieces = 64, kPieceBytes = 4096;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts = {};
  bool is_read = fd >= 0 && ::fstat(fd, &facts) == 0;
  if (is_read) LetClockPass(facts);
  std::string pieces;
  std::array<char, kPieceBytes> piece;
  const bool is_file = S_ISREG(facts.st_mode);  // The bytes of a pipe come once.
  for (off_t i = 0; is_read && is_file && i < kPieces; ++i) {
    const off_t last = std::max<off_t>(0, facts.st_size - kPieceBytes);
    const ssize_t count = ::pread(fd, piece.data(), piece.size(), last / (kPieces - 1) * i);
    is_read = count >= 0;
    if (is_read) pieces.append(piece.data(), static_cast<size_t>(count));
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!is_read) return UsageError("cannot read {}: {}", path, std::strerror(error));
  return fmt::format("{} bytes, changed at {}.{:09}, {}.{:09}, inode {}, digest {:016x}",
                     facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                     facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec, facts.st_ino,
                     XXH3_64bits(pieces.data(), pieces.size()));
}

std::string WithoutEndSlashes(std::string out) {
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

ConversionState::~ConversionState() {
  if (journal_ >= 0) ::close(journal_);
  if (lock_ >= 0) ::close(lock_);
}

bool ConversionState::IsThere(const std::string& out) {
  std::error_code ignored;
  const fs::path directory = WithoutEndSlashes(out) + ".partial";
  // A kill at the very end leaves it empty.
  return fs::exists(directory / kIdentityName, ignored) ||
         (fs::is_directory(directory, ignored) && fs::is_empty(directory, ignored));
}

Result<std::unique_ptr<ConversionState>> ConversionState::Open(const std::string& out,
                                                               const ordered_json& identity) {
  std::unique_ptr<ConversionState> state(new ConversionState(WithoutEndSlashes(out)));
  RETURN_IF_ERROR(MakeDirectoryDurably(state->directory_));
  RETURN_IF_ERROR(state->Lock());
  RETURN_IF_ERROR(state->CheckIdentity(identity));
  RETURN_IF_ERROR(state->ReadJournal());
  return state;
}

Status ConversionState::Lock() {
  lock_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) return StatusFromErrno(errno, "open", directory_);
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return OkStatus();
  if (errno != EWOULDBLOCK) return StatusFromErrno(errno, "lock", directory_);
  return UsageError("another process is converting to \"{}\": wait for it or end it", out_);
}

Status ConversionState::CheckIdentity(const ordered_json& identity) {
  const std::string path = directory_ + "/" + kIdentityName;
  if (!fs::exists(path)) {
    for (const auto& entry : fs::directory_iterator(directory_)) {
      const std::string found = entry.path().string();
      // It was killed while it wrote it.
      if (found.starts_with(path + ".") && found.ends_with(".tmp")) continue;
      return UsageError("\"{}\" is there and is of no conversion: remove it", directory_);
    }
    return WriteFileDurably(path, JsonLines(identity));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const Result<json> before = ParseJson(text);
  if (!before.ok()) return before.status().Annotate(path);
  const json now = json::parse(DumpJson(identity));
  for (const auto& [key, value] : now.items()) {
    const auto found = before.value().find(key);
    if (found != before.value().end() && *found == value) continue;
    return UsageError(
        "\"{}\" was begun with another \"{}\": {}; now it is {}. Give what it was begun with to go "
        "on, or remove it to begin anew",
        directory_, key, found == before.value().end() ? "none" : ShownJson(*found),
        ShownJson(value));
  }
  return OkStatus();
}

Status ConversionState::ReadJournal() {
  const std::string path = directory_ + "/" + kJournalName;
  journal_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0644);
  if (journal_ < 0) return StatusFromErrno(errno, "write", path);
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::string_view left = text;
  for (ConvertedChunk chunk; TakeEntry(chunks_.size(), &left, &chunk);) chunks_.push_back(chunk);
  if (::ftruncate(journal_, static_cast<off_t>(text.size() - left.size())) != 0) {
    return StatusFromErrno(errno, "write", path);
  }
  return OkStatus();
}

void ConversionState::Append(ConvertedChunk chunk) {
  unwritten_ += EntryOf(chunk, chunks_.size());
  chunks_.push_back(std::move(chunk));
}

Status ConversionState::Sync() {
  const std::string path = directory_ + "/" + kJournalName;
  RETURN_IF_ERROR(WriteAll(journal_, std::exchange(unwritten_, ""), path));
  if (::fdatasync(journal_) != 0) return StatusFromErrno(errno, "fsync", path);
  return OkStatus();
}

bool ConversionState::is_data_finished() const { return fs::exists(data_path() + "/data.json"); }

void ConversionState::RemoveUnnamed() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(data_path(), ignored)) {
    if (entry.path().extension() == ".tmp") fs::remove(entry.path(), ignored);
  }
}

void ConversionState::RemoveSpills() const {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("spill-")) fs::remove(entry.path(), ignored);
  }
}

Status ConversionState::Finish() {
  RemoveUnnamed();
  if (fs::exists(data_path())) {
    RETURN_IF_ERROR(RenameDurably(data_path(), out_));
  } else {  // An earlier call has renamed it.
    RETURN_IF_ERROR(SyncDirectory(fs::absolute(out_).parent_path().string()));
  }
  // conversion.json goes last: it says what the rest is.
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    if (entry.path().filename() != kIdentityName) fs::remove_all(entry.path(), error);
  }
  fs::remove_all(directory_, error);
  return error ? StatusFromErrno(error.value(), "remove", directory_) : OkStatus();
}

}  // namespace rowhouse
