// OpRules: what an operator of a trace costs on a graphics processor, by its name and shapes.
//
//   addmm          [bias, A, B]: M, K of A, N of B
//   mm, bmm        [A, B]
//   AddmmBackward, MmBackward, BmmBackward   the mm or bmm operators below it
//   LookupFunction  tables, rows, dim, bags of its children output_nr (weights, tables, ids,
//                   offsets), or of its own recorded shapes, of the same order
//   LookupFunctionBackward   of its children size (tables, weights, offsets), or of the last lookup
//                   forward that has no backward yet
//   embedding_bag  [weights, ids, offsets]: one table
//   embedding      [weights, ids]: one table, bags of one id
//   EmbeddingBagBackward, EmbeddingBackward   as SGD, of the gradients and ids of the operator
//                   _embedding_bag_backward or embedding_backward below it
//   copy_          [to, from]: 4 bytes an element, by the processor's own copies
//   nccl:all_to_all          by the message size of the slowest rank; ranks are taken to be alike
//   nccl:all_reduce, nccl:all_gather, nccl:reduce_scatter, nccl:reduce   by what crosses the bus
//   of our own profile: mlp/..., interaction/dot, pool/..., pool_backward/...
// "aten::" before a name and a 0 behind it, as newer versions have, change nothing.
// Threads: an OpRules is used by one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "sharding/lab/gpu/fully_connected.h"
#include "sharding/lab/gpu/lookup.h"
#include "sharding/lab/gpu/trace_events.h"

namespace rowhouse {

// Bags that the original takes where a backward operator does not tell their length.
inline constexpr uint64_t kBagLengthOfOriginal = 38;

struct OpRuleOptions {
  const GpuModel* gpu = nullptr;  // required
  GpuForm form = GpuForm::kCorrected;
  const MeasuredProducts* products = nullptr;  // null: at the processor's peaks
  // Of LookupFunctionBackward; 0: of the forward lookup with its shape, or else 38.
  uint64_t bag_length = 0;
  // Of the links between processors, each way; 0: not known, and collectives have no rule.
  double link_gbs = 0;
  uint32_t gpus = 0;  // of a collective; 0: as the trace says
};

struct OpCost {
  std::string rule;   // "matrix product"
  std::string sizes;  // "1 x 512 x 256 x 13"
  double us = 0;
  double later_us = 0;  // of a lookup forward, by its authors' later model; of others 0
};

class OpRules {
 public:
  OpRules(const TraceEvents* trace, const OpRuleOptions& options)
      : trace_(trace), options_(options) {}

  // nullopt: no rule names it. kUsage, naming the event, if a rule does and its shapes are missing
  // or impossible. Operators are asked in the order of time: a backward lookup belongs to a forward
  // one.
  Result<std::optional<OpCost>> CostOf(const TraceEvent& op);

 private:
  Result<OpCost> Products(const TraceEvent& op, const std::string& child);
  Result<OpCost> Forward(const TraceEvent& op);
  Result<OpCost> Backward(const TraceEvent& op);
  Result<OpCost> Embedding(const TraceEvent& op, bool has_bags);
  Result<OpCost> EmbeddingBackward(const TraceEvent& op);
  Result<OpCost> OwnPhase(const TraceEvent& op);
  Result<OpCost> CostOfForward(const TraceEvent& op, GpuLookup lookup);
  OpCost CostOfProducts(const std::vector<GpuProduct>& products) const;
  double ProductUs(const GpuProduct& product) const;
  // Reads the variant from the kernel that `op` launched; what is not recorded is as usual for
  // `dim`.
  const TraceKernel* ApplyKernel(const TraceEvent& op, GpuLookup* lookup) const;

  const TraceEvents* trace_;
  OpRuleOptions options_;
  std::vector<GpuLookup> forwards_;  // without a backward yet
};

}  // namespace rowhouse
