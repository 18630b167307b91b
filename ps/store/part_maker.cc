#include "ps/store/part_maker.h"

#include <glog/logging.h>

#include <algorithm>
#include <filesystem>

#include "common/durable_file.h"
#include "common/kill_point.h"
#include "ps/store/directory_state.h"

namespace rowhouse {

std::string PartMaker::unfinished_delta() const { return DeltaDirectory(directory_) + "/tmp"; }

Status PartMaker::Cut(const std::string& name) {
  if (directory_.empty()) return store_.Checkpoint(name).status();
  {
    // A flush that finds no room would hold up the rows of later steps, too. A quarter more, for
    // keys, indexes and filters; and what the store writes beside rows.
    constexpr uint64_t kBesideRows = uint64_t{4} << 20;
    const uint64_t rows = store_.bytes_in_memory();
    ReservedRoom room;
    RETURN_IF_ERROR(room.Take(directory_, rows + rows / 4 + kBesideRows));
  }
  ASSIGN_OR_RETURN(stamp_, CutPart(store_, directory_, name));
  KillPoint("part.cut");
  return OkStatus();
}

Status PartMaker::AddToDelta(uint64_t steps, std::span<const StoreWrite> writes) {
  if (directory_.empty()) return OkStatus();  // The cut fails.
  if (delta_ == nullptr) {
    RETURN_IF_ERROR(MakeDirectoryDurably(DeltaDirectory(directory_)));
    CHECK(!deltas_.contains(steps)) << "a second delta of step " << steps;
    ASSIGN_OR_RETURN(delta_, DeltaWriter::Open(unfinished_delta()));
  }
  for (const StoreWrite& write : writes) RETURN_IF_ERROR(delta_->Add(write));
  KillPoint("delta.added_to");
  return OkStatus();
}

Status PartMaker::FinishDelta(uint64_t steps) {
  if (delta_ == nullptr) return OkStatus();
  ASSIGN_OR_RETURN(const FileDigest digest, delta_->Finish());
  KillPoint("delta.before_rename");
  RETURN_IF_ERROR(RenameDurably(unfinished_delta(), DeltaPath(directory_, steps)));
  KillPoint("delta.made");
  delta_.reset();
  deltas_[steps] = digest;
  return OkStatus();
}

void PartMaker::KeepDeltas(std::span<const uint64_t> steps) {
  std::erase_if(deltas_,
                [&](const auto& one) { return std::ranges::count(steps, one.first) == 0; });
  std::vector<std::filesystem::path> others;
  std::error_code error;
  for (std::filesystem::directory_iterator at(DeltaDirectory(directory_), error), end;
       !error && at != end; at.increment(error)) {
    const bool is_kept = std::ranges::any_of(
        deltas_, [&](const auto& one) { return at->path() == DeltaPath(directory_, one.first); });
    if (!is_kept) others.push_back(at->path());
  }
  for (const std::filesystem::path& other : others) {
    std::filesystem::remove(other, error);
    LOG_IF(WARNING, error) << other << " is not needed, and cannot be deleted: " << error.message();
    KillPoint("delta.deleted");
  }
}

Result<PartMaker::Part> PartMaker::TryToFinish(const std::string& name, uint64_t steps,
                                               std::span<const uint64_t> deltas,
                                               std::span<const WrittenSlice> written_rows) {
  RETURN_IF_ERROR(FinishDelta(steps));
  Part part{.directory = CheckpointPart(directory_, name), .facts = {}};
  if (const auto mine = deltas_.find(steps); mine != deltas_.end()) {
    part.delta_bytes = mine->second.bytes;
  }
  // Another part of a whole checkpoint would have another checksum than its manifest names.
  if (name == whole_) {
    ASSIGN_OR_RETURN(part.facts, SumUpPart(part.directory));
    AbandonPart(directory_, name);
    return part;
  }
  PartContents contents{
      .steps = steps, .stamp = stamp_, .written_rows = written_rows, .deltas = {}};
  for (const uint64_t needed : deltas) {
    contents.deltas.push_back({.steps = needed, .file = deltas_.at(needed)});
  }
  ASSIGN_OR_RETURN(part.facts, FinishPart(directory_, name, std::move(contents)));
  KeepDeltas(deltas);
  return part;
}

Result<PartMaker::Part> PartMaker::Finish(const std::string& name, uint64_t steps,
                                          std::span<const uint64_t> deltas,
                                          std::span<const WrittenSlice> written_rows) {
  Result<Part> made = TryToFinish(name, steps, deltas, written_rows);
  if (!made.ok()) {
    deltas_.erase(steps);
    Abandon(name);
  }
  return made;
}

void PartMaker::Abandon(const std::string& name) {
  if (directory_.empty()) return;
  delta_.reset();
  std::error_code ignored;  // The next delta replaces it.
  std::filesystem::remove(unfinished_delta(), ignored);
  AbandonPart(directory_, name);
}

Status PartMaker::Delete(std::vector<std::string> names, const std::string& whole, uint64_t steps) {
  if (directory_.empty()) return OkStatus();
  if (!whole.empty()) whole_ = whole;
  std::erase_if(names, [&](const std::string& name) {
    if (!whole_.empty()) return name == whole_;
    return StepsOfCheckpoint(name).value_or(0) < steps;
  });
  ASSIGN_OR_RETURN(const DirectoryOwner owner, ReadOwner(directory_));
  return DeleteParts(names, owner, directory_);
}

Result<std::vector<std::string>> PartMaker::Parts() const {
  if (directory_.empty()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const DirectoryOwner owner, ReadOwner(directory_));
  return PartsOf(owner, directory_);
}

}  // namespace rowhouse
