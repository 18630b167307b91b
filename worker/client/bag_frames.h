// BagFrames: the bags that shards pool, as payload frames: of the pull that asks for their sums or
// maxima, and of the push that brings their gradients. The shard keeps the bags of the pull until
// the push, so the two name the same pieces.
// Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/frame.h"
#include "common/status.h"
#include "common/wire/pull.h"
#include "sharding/plans/router.h"
#include "worker/client/message_part.h"
#include "worker/embedding/row_batch.h"

namespace rowhouse {

class BagFrames {
 public:
  // Routes the bags and makes room for their pooled vectors. `batches` outlive this; null: none.
  BagFrames(const Router& router, std::vector<BagBatch>* batches);

  // Adds all bags to the parts; `trained_only`: leaves out bags of frozen tables.
  void AddTo(PartDivider* parts, bool trained_only) const;

  // The list of bags in a part's body.
  std::vector<TableBags> TablesOf(const MessagePart& part) const;

  // Appends the pull's payload frames: ids, lengths, weights.
  void EncodeLookups(const MessagePart& part, Frames* payload) const;

  // Takes the pooled columns and winners that a shard answered. The order of the answers does not
  // matter: partial sums are exact in f64, and of equal maxima the lookup that comes first in the
  // batch wins.
  // kCorruption if the frames do not hold what the part asked for.
  Status CopyPooled(const MessagePart& part, const Frame& pooled, const Frame& winners);

  // Appends the push's payload frames: gradients and winners.
  void EncodeGradients(const MessagePart& part, Frames* payload) const;

 private:
  struct Routed {
    size_t batch = 0;
    RoutedBags bags;

    bool IsPartial(const BagBatch& of) const {
      return of.pooling != Pooling::kMax && !bags.is_whole;
    }
  };

  size_t ValuesOf(const BagPiece& piece) const;
  Status CheckSizes(const MessagePart& part, const Frame& pooled, const Frame& winners) const;
  void AddPartialSums(const Routed& routed, uint32_t bag, const std::byte* partials);
  Status TakeMaxima(const Routed& routed, uint32_t bag, const std::byte* maxima,
                    const std::byte* winners);

  std::vector<BagBatch>* const batches_;
  std::vector<Routed> routed_;
  std::vector<std::vector<double>> sums_;  // of each batch with partial sums: bags x dim
};

}  // namespace rowhouse
