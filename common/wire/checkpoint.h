// CHECKPOINT: what one worker asks of a shard, so that the model is saved while the run goes on
// (docs/storage.md, "Saves in mid-run").
//
// A checkpoint begins with kMark on all shards between the same two steps; header.step as in
// common/wire/control.h. The worker then asks (kAsk) until no shard has it under way. Once the
// model's manifest names the parts, or the checkpoint has been given up, kDelete follows, whose
// header.step is that of the checkpoint. All are answered at once. Only worker 0 asks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/serialized.h"
#include "common/wire/header.h"

namespace rowhouse {

enum class CheckpointPhase : uint8_t {
  kMark = 0,  // the shard's part under `name` will have the rows as they are now; it makes it
              // beside the steps
  kAsk = 1,   // how that stands
  // Says which checkpoint is whole now (`name`; "": no other than before), and has the shard's
  // parts of the checkpoints in `deleted` deleted. A shard deletes no part of another model, and
  // not the one that is whole (ps/store/part_maker.h).
  kDelete = 2,
};

struct CheckpointRequest {
  static constexpr MessageType kType = MessageType::kCheckpoint;
  CheckpointPhase phase = CheckpointPhase::kAsk;
  std::string name;                  // "step-1200"; kMark: of the step under way; kDelete
  std::vector<std::string> deleted;  // kDelete
  SERIALIZED(phase, name, deleted);
};

struct CheckpointReply {
  static constexpr MessageType kType = MessageType::kCheckpointReply;
  uint8_t code = 0;  // StatusCode
  std::string message;
  bool is_under_way = false;   // a part is being made, or parts are being deleted
  uint64_t changed_bytes = 0;  // of rows that changed since the last kMark
  // Of the last checkpoint, when it is not under way any more.
  std::string no_room;    // why there is none, where the disk is full; else ""
  std::string directory;  // of the shard's part
  std::string checksum;   // of the part (ps/store/checkpoint_part.h)
  uint64_t bytes = 0;     // of the part's files, which are links where the store has them too
  // Names of the checkpoints of which the shard has parts of this model, as it last looked.
  std::vector<std::string> parts;
  SERIALIZED(code, message, is_under_way, changed_bytes, no_room, directory, checksum, bytes,
             parts);
};

}  // namespace rowhouse
