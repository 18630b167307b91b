// What a LoadBalanceManager decided, for `rowhouse plan --embeddings_per_feat=...`.
// Threads: pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sharding/plans/load_balance_manager.h"

namespace rowhouse {

// The keys of SPEC 3's vectors. Of every mode:
//   lbm, embeddings_per_feat (sizes: the same), num_groups, base_emb_dim, capacities (if given);
//   all_feat_offsets; groups, offsets, num_embeddings_on_rank, emb_dims, qr_bucket_sizes, each a
//   rank, [] and 0 of one without rows; cuts {table: [row]}; segments_feature_lo_hi_localstart
// fair: ranges, remainder_rows and, where capacities are equal, num_embeddings_per_rank (without
//   the remainder), emb_dim and qr_bucket_size, which are the same of all ranks
// shuffle, greedy: rows_per_group. shuffle: numpy_seed, shuffle_call_number, permutation
// greedy: lpt_groups, lpt_loads and, where capacities are equal, lower_bound and, of up to
//   kMaxItemsToSolve tables, optimal_max_load
nlohmann::ordered_json LoadBalanceToJson(const LoadBalanceManager& manager);

// A line a rank, for a terminal.
std::string LoadBalanceText(const LoadBalanceManager& manager);

}  // namespace rowhouse
