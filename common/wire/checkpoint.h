// CHECKPOINT: what one worker asks of a shard between two steps, so that the model is saved while
// the run goes on (docs/storage.md, "Saves in mid-run"). header.step as in common/wire/control.h.
//
// A checkpoint is made by three requests to all shards: kReserve on each, then kMake on each, then,
// once the model's manifest names the parts, or has been given up, kDelete. Only worker 0 asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/wire/header.h"

namespace rowhouse {

enum class CheckpointPhase : uint8_t {
  kReserve = 0,  // takes the room that kMake may need from the disk, so that nobody else gets it
  kMake = 1,     // writes the rows, and makes the shard's part under `name`; ends the reservation
  // Says which checkpoint is whole now (`name`; "": no other than before), deletes the shard's
  // parts of the checkpoints in `deleted`, and ends the reservation. A shard deletes no part of
  // another model, and not the one that is whole (ps/store/checkpoint_part.h).
  kDelete = 2,
};

struct CheckpointRequest {
  static constexpr MessageType kType = MessageType::kCheckpoint;
  CheckpointPhase phase = CheckpointPhase::kReserve;
  std::string name;                  // "step-1200"; kMake: of the step under way; kDelete
  std::vector<std::string> deleted;  // kDelete

  template <class Archive>
  void serialize(Archive& archive) {
    archive(phase, name, deleted);
  }
};

struct CheckpointReply {
  static constexpr MessageType kType = MessageType::kCheckpointReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  std::string no_room;    // why there is no checkpoint, where the disk is full; else ""
  std::string directory;  // of the shard's part, after kMake
  std::string checksum;   // of the part (ps/store/checkpoint_part.h)
  uint64_t bytes = 0;     // of the part's files, which are links where the store has them too
  // Names of the checkpoints of which the shard has parts of this model, after the phase.
  std::vector<std::string> parts;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(code, message, no_room, directory, checksum, bytes, parts);
  }
};

}  // namespace rowhouse
