// `rowhouse plan --embeddings_per_feat=...`: the flags that ask for a LoadBalanceManager, and its
// decisions.
// Threads: pure functions.
#pragma once

#include <optional>

#include "common/status.h"
#include "launch/command_line/command_line.h"
#include "launch/figures/figures.h"
#include "sharding/tables/load_balance_manager.h"

namespace rowhouse {

// Nothing unless --embeddings_per_feat is given. kUsage, with the flag and where it stands, for a
// value out of range, for a flag that does nothing in this mode or without --embeddings_per_feat,
// and for what LoadBalanceManager::Make refuses.
Result<std::optional<LoadBalanceManager>> ReadLoadBalanceFlags(const CommandLine& command_line);

// A line for each rank, for a terminal. The keys of the JSON are those of
// tests/vectors/load_balance.json. In every mode:
//   lbm, embeddings_per_feat (also as sizes), num_groups, base_emb_dim, capacities (if given);
//   all_feat_offsets; for each rank groups, offsets, num_embeddings_on_rank, emb_dims,
//   qr_bucket_sizes, [] and 0 for one without rows; cuts {table: [row]};
//   segments_feature_lo_hi_localstart
// fair: ranges, remainder_rows and, if capacities are equal, num_embeddings_per_rank (without the
//   remainder), emb_dim and qr_bucket_size of any rank
// shuffle, greedy: rows_per_group. shuffle: numpy_seed, shuffle_call_number, permutation
// greedy: lpt_groups, lpt_loads and, if capacities are equal, lower_bound and, for up to
//   kMaxItemsToSolve tables, optimal_max_load
Figures LoadBalanceFigures(const LoadBalanceManager& manager);

}  // namespace rowhouse
