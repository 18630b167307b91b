#include "launch/settings/flags.h"

#include <gflags/gflags.h>

// Every flag: default, meaning, unit. Ranges are checked and printed by
// launch/settings/setting_fields.cc, where each has its entry; tests/launch/flags_test.cc compares
// names and defaults of both. The names and defaults of DLRM's flags are DLRM's.

// ---- Not settings ---------------------------------------------------------------------------

DEFINE_string(config, "",
              "YAML file with model, tables, data and training (see configs/); flags "
              "given on the command line override it");
DEFINE_bool(print_config, false,
            "Print the effective settings as a YAML file for --config, and "
            "stop");
DEFINE_string(
    json, "",
    "The figures as JSON: --json=FILE writes them to a file beside what is printed; --json "
    "alone, or --json=-, prints them to standard output, and nothing else there");
DEFINE_string(
    trace, "",
    "bench: a trace of accesses to measure hit ratios of caches on as well: a text file of "
    "one number a line");
DEFINE_bool(long, false, "bench: tier_long, too: a table of 10^8 rows; minutes, and 10 GB of disk");
DEFINE_string(
    out, "",
    "The file that the verb makes. compare: the page, HTML; needed unless --json is given. plan: "
    "the plan, for --plan, or the counts, for --access_counts");
DEFINE_string(csv, "", "compare: write the table to this file as well");
DEFINE_bool(
    strategies, false,
    "compare: what sharding cost each run (memory, rows, bytes, time), not what it learned");

DEFINE_bool(sizes, false,
            "plan: bytes of every table, memory and disk of every PS node, and the largest "
            "vocabulary of every kind in memory_mb");
DEFINE_string(touched_rows, "all",
              "sizes: the rows that count for memory and disk of PS nodes: all, or run, those that "
              "the run's samples look up (of generated data; of a file by --access_counts)");
DEFINE_string(memory_mb, "",
              "plan: memory to find the largest vocabularies for, MiB; default: cache_mb");
DEFINE_bool(count_ids, false,
            "plan: how often training looks up each row: reads an epoch of the data, prints the "
            "hottest rows, and writes counts to --out");
DEFINE_string(max_samples, "", "count_ids: samples to read at most; default: all of the epoch");
DEFINE_string(measured, "",
              "plan: a --model_dir: the plan is made from the lookups its rows were counted while "
              "it was trained, by skew_aware unless --strategy says otherwise; --config is its own "
              "unless it is given");
DEFINE_string(embeddings_per_feat, "",
              "plan: rows of each table, with commas between: what LoadBalanceManager deals to "
              "num_groups ranks. Prints groups, offsets, cuts, block widths and bucket sizes; no "
              "config counts");
DEFINE_uint32(num_groups, 4,
              "embeddings_per_feat: ranks, 1 to 65536; fair: at most as many as rows, others: as "
              "tables");
DEFINE_uint32(base_emb_dim, 128,
              "embeddings_per_feat: floats of a row of full width, 1 to 4096; smaller parts of all "
              "rows get narrower ones");
DEFINE_string(lbm, "fair",
              "embeddings_per_feat: fair (rows in contiguous ranges of equal size, which cut "
              "tables), shuffle (whole tables in numpy's random order) or greedy (whole tables, "
              "largest first, each to the least loaded rank)");
DEFINE_uint32(lbm_seed, 111, "lbm shuffle: seed of numpy's generator");
DEFINE_uint32(lbm_shuffle_call, 1,
              "lbm shuffle: which of the generator's shuffles, 1 to 1048576; the second manager of "
              "a notebook has number 2");
DEFINE_string(lbm_capacities, "",
              "lbm fair, greedy: how much each rank can hold, relative to the others, as whole "
              "numbers with commas between; default: all the same");

// ---- Model ----------------------------------------------------------------------------------

DEFINE_uint32(arch_sparse_feature_size, 2, "Floats in an embedding row, of every table");
DEFINE_string(arch_embedding_size, "4-3-2",
              "Rows of each table; where neither flag nor config says, those of Criteo's data are "
              "counted: as many as a column has tokens. The tables are named t0, t1, ...; where "
              "--config has as many, "
              "they keep their names and options");
DEFINE_string(arch_mlp_bot, "4-3-2",
              "Widths of the bottom MLP: dense features first, arch_sparse_feature_size last");
DEFINE_string(arch_mlp_top, "4-2-1",
              "Widths of the top MLP without its input, which follows from the interaction; 1 "
              "last");
DEFINE_string(arch_interaction_op, "dot",
              "How pooled vectors meet: dot (products of all pairs), cat (side by side, of any "
              "widths) or dcn (cross layers of DCN-v2, as in MLPerf's DLRM-v2)");
DEFINE_bool(arch_interaction_itself, false, "dot: also the product of each vector with itself");
DEFINE_uint32(dcn_num_layers, 3, "dcn: cross layers");
DEFINE_uint32(dcn_low_rank_dim, 512, "dcn: rank of each cross layer's matrix");
DEFINE_string(loss_function, "mse",
              "mse (mean square), bce (binary cross entropy), wbce (the same, weighted by class)");
DEFINE_string(loss_weights, "1.0-1.0", "wbce: weights of class 0 and class 1");
DEFINE_double(loss_threshold, 0.0, "Clamps predictions to [t, 1 - t]; 0: no clamp");
DEFINE_string(
    initialiser, "counter",
    "First values of rows: counter (uniform, a hash of seed, table, row and column, for "
    "tables of any size), normal (the same, Xavier's), dlrm (the numbers DLRM draws, for at "
    "most 2^33 of them); --config also knows constant and init_from");
DEFINE_string(
    weighted_pooling, "none",
    "Weights of ids in a bag's sum, of all tables: none, fixed (all 1) or learned (rows of "
    "width 1)");
DEFINE_bool(qr_flag, false, "Keeps tables of more than qr_threshold rows as kind qr");
DEFINE_uint64(qr_threshold, 200, "qr_flag: tables of at most so many rows stay plain");
DEFINE_uint64(qr_collisions, 4, "qr_flag: rows of the remainder table");
DEFINE_string(qr_operation, "mult",
              "qr_flag: how quotient and remainder are combined: mult, add or concat (vectors of "
              "twice the width)");
DEFINE_bool(
    qr_pool_first, false,
    "qr_flag: pools quotients and remainders apart, as DLRM does, instead of combining them "
    "per id as the paper means it");
DEFINE_bool(md_flag, false, "Keeps tables of more than md_threshold rows as kind mixed");
DEFINE_uint64(md_threshold, 200, "md_flag: tables of at most so many rows stay plain");
DEFINE_double(md_temperature, 0.3, "md_flag: how fast rows get narrower as tables get larger");
DEFINE_bool(md_round_dims, false, "md_flag: widths are powers of two");

// ---- Data -----------------------------------------------------------------------------------

DEFINE_string(data_generation, "random",
              "random (DLRM's generator), dataset (the file --data, which implies it) or "
              "synthetic (Zipf ids with planted effects)");
DEFINE_string(data, "", "dataset: Criteo's text file: label, 13 integers, 26 tokens, tabs between");
DEFINE_string(raw_data_file, "", "DLRM's name of --data");
DEFINE_string(data_set, "kaggle",
              "dataset: kaggle (--data is a file) or terabyte (--data=day stands for a file a day, "
              "day_0, day_1, ..., as many as there are)");
DEFINE_double(test_fraction, 0.0, "dataset: last part of the file, held out for testing; fraction");
DEFINE_string(id_mapping, "hash",
              "dataset: how a token becomes a row: hash (token modulo rows) or dictionary (in "
              "order of first appearance)");
DEFINE_int64(max_ind_range, -1,
             "dataset: tokens modulo this before anything else, and tables of at most so many "
             "rows; -1: off");
DEFINE_string(data_randomize, "total",
              "dataset: order of the train samples: total (one permutation) or none");
DEFINE_uint64(data_size, 1, "random, synthetic: train samples");
DEFINE_uint64(num_batches, 0,
              "random: train batches, instead of data_size; others: end an epoch after so many "
              "batches; 0: off");
DEFINE_uint32(num_indices_per_lookup, 10, "random: most ids in a bag");
DEFINE_bool(num_indices_per_lookup_fixed, false, "random: exactly so many ids in every bag");
DEFINE_bool(round_targets, false, "random: labels 0 and 1 instead of numbers between");
DEFINE_string(rand_data_dist, "uniform", "random: distribution of ids: uniform or gaussian");
DEFINE_double(rand_data_min, 0, "gaussian: least id");
DEFINE_double(rand_data_max, 1, "gaussian: greatest id");
DEFINE_double(rand_data_mu, -1, "gaussian: mean; -1: the middle of min and max");
DEFINE_double(rand_data_sigma, 1, "gaussian: standard deviation");
DEFINE_uint64(synthetic_test_samples, 0, "synthetic: samples to test on");
DEFINE_double(zipf_exponent, 1.05, "synthetic: id k of a table is as frequent as 1 / k^exponent");
DEFINE_double(effect_scale, 1.0, "synthetic: standard deviation of the planted logit");
DEFINE_uint32(synthetic_bag_length, 1, "synthetic: ids in a bag");
DEFINE_bool(synthetic_bag_fixed, true,
            "synthetic: every bag has synthetic_bag_length ids; otherwise 1 to so many");
DEFINE_bool(synthetic_weights, false,
            "synthetic: a weight from 0.5 to 1.5 for every id of a bag; tables need pooling sum");

// ---- Training -------------------------------------------------------------------------------

DEFINE_uint64(mini_batch_size, 1, "Samples of a step over all workers");
DEFINE_int64(test_mini_batch_size, -1, "The same when testing; -1: mini_batch_size");
DEFINE_uint64(nepochs, 1, "Times to go through the train samples, over all runs of a model");
DEFINE_double(learning_rate, 0.01, "Learning rate, before the schedule of lr_policy");
DEFINE_string(lr_policy, "poly2",
              "Rate of a step, counted from the model's first: poly2 (DLRM's: linear warm-up, "
              "quadratic decay; without such steps, constant), poly2_smooth (the same without its "
              "plateau before decay and its jump) or constant");
DEFINE_uint64(lr_num_warmup_steps, 0, "Steps in which the rate rises to learning_rate; 0: none");
DEFINE_uint64(lr_decay_start_step, 0,
              "Step, from 1, with which the decay starts; lr_num_warmup_steps or "
              "more");
DEFINE_uint64(lr_num_decay_steps, 0, "Steps in which the rate falls towards 1e-7; 0: no decay");
DEFINE_string(
    optimizer, "sgd",
    "Of the rows and, with what goes with it, of the dense part. All of them change a row "
    "only in steps that touch it; adam lets its moments fade meanwhile, lazy_adam "
    "(torch's SparseAdam) does not");
DEFINE_double(optimizer_epsilon, 0,
              "Adagrads, Adams: added after the root; 0: 1e-10 for Adagrads, 1e-8 for Adams");
DEFINE_double(optimizer_initial_accumulator, 0, "Adagrads, ftrl: first sum of squares");
DEFINE_double(optimizer_lr_decay, 0, "Adagrads: step t, from 0, has the rate / (1 + t * this)");
DEFINE_double(optimizer_weight_decay, 0,
              "All but ftrl: times the weight, added to the gradient (L2); of rows only those "
              "touched");
DEFINE_double(optimizer_momentum, 0.9, "momentum: part of the velocity a step keeps");
DEFINE_double(optimizer_beta1, 0.9, "Adams: part of the mean a step keeps");
DEFINE_double(optimizer_beta2, 0.999, "Adams: part of the mean square a step keeps");
DEFINE_double(optimizer_l1, 0, "ftrl: L1, which makes weights exactly 0");
DEFINE_double(optimizer_l2, 0, "ftrl: L2");
DEFINE_double(optimizer_beta, 1, "ftrl: the rate of a weight is rate / (this + root of its sum)");
DEFINE_string(dense_optimizer, "", "Of the dense part, where it is to be another than optimizer");
DEFINE_double(dense_learning_rate, -1,
              "Learning rate of the dense part, with the same schedule; -1: learning_rate");
DEFINE_double(dense_weight_decay, -1,
              "Weight decay of the dense part; -1: 0.01 for adamw, optimizer_weight_decay for "
              "others");
DEFINE_uint32(
    mlperf_grad_accum_iter, 1,
    "Mini-batches that make up a step: gradients are accumulated over them, and the loss is "
    "the mean over all their samples; saves memory, trains as one batch of that size");
DEFINE_uint64(numpy_rand_seed, 123, "Seed of first values and of generated data");
DEFINE_uint32(threads, 1,
              "Compute threads of a worker. Another number gives other last bits, so it is never "
              "derived from the machine");
DEFINE_uint64(stop_after_steps, 0, "Steps of this run, then save and stop; 0: train to the end");
DEFINE_int64(test_freq, -1, "Steps between tests; below 1: only at the end");
DEFINE_int64(print_freq, 1, "Steps between progress lines; below 1: none");
DEFINE_bool(print_time, false,
            "DLRM's switch for the time of a step; without effect, it is always printed");
DEFINE_int32(print_precision, 5, "Digits of the values that debug_mode prints");
DEFINE_bool(debug_mode, false,
            "Print model, data and all parameters before and after training, as DLRM does (of long "
            "arrays both ends). With data_generation=random and initialiser=dlrm it changes the "
            "first values, as in DLRM, where printing the data takes numbers of the generator "
            "before the weights do; otherwise it changes nothing");

// ---- Storage --------------------------------------------------------------------------------

DEFINE_string(store, "rocksdb", "Where rows lie at rest: rocksdb or memory");
DEFINE_string(row_dir, "",
              "Directory for rows on each PS node's own disk; default: rows in --model_dir, or, "
              "without that, a temporary directory deleted at the end");
DEFINE_uint64(cache_mb, 1024,
              "Most memory for rows on a PS node, over all its shards and tables; MiB");
DEFINE_uint64(
    memory_limit_mb, 0,
    "Most memory of a PS node, all that it holds: its cache is as large as --cache_mb says, "
    "or as the limit leaves beside requests, RocksDB and the process; MiB, 128 or more; 0: "
    "no limit");
DEFINE_double(cache_ratio, 1.0, "And at most this part of the rows of each table; fraction");
DEFINE_uint32(cache_ways, 16, "Rows whose place in the cache a row may take; 1: that of any");
DEFINE_string(cache_policy, "lrfu",
              "Which rows a cache keeps: lrfu, lfu, lru, clock, w_tinylfu, or dataset, which ranks "
              "rows by --cache_frequencies, or else by their numbers");
DEFINE_string(cache_frequencies, "",
              "File of rowhouse plan --count_ids, on each PS node: what policy dataset ranks by "
              "and what caches begin with");
DEFINE_double(cache_warmup_ratio, 0.7,
              "With --cache_frequencies: part of each cache that begins with the hottest rows; "
              "fraction");
DEFINE_uint32(
    prefetch_steps, 8,
    "Most steps ahead that workers tell shards which rows they will pull, so that these are "
    "read from disk before; how many they do adapts to whether pulls wait for a disk; 0: "
    "never");
DEFINE_uint64(
    max_dirty_steps, 0,
    "A changed row is written to the row directory at most so many steps later; 0: with a "
    "push log 1000, without one when it must leave the cache or is saved");
DEFINE_string(
    durability, "none",
    "What an answered push survives. none: nothing, what was saved does; wal: the end of "
    "the PS process, by a log of pushes beside the rows; fsync: that of the machine, too");
DEFINE_string(store_compression, "none",
              "Of rows at rest that have not changed for long: none, or zstd, which helps where "
              "rows are short of training or kept in 16 bits, and costs time of every read");
DEFINE_bool(direct_reads, false,
            "Read and write rows past the system's page cache, so that a PS node needs no memory "
            "beyond its own; for disks that answer many reads at once");

// ---- Cluster --------------------------------------------------------------------------------

DEFINE_int32(ps, -1,
             "MPI ranks that are PS nodes, the others being workers; -1: half of the ranks, "
             "rounded down. They are spread evenly over the hosts. A run of one rank starts a PS "
             "node beside its worker");
DEFINE_uint32(ps_per_host, 0, "The same, but so many on every host; 0: as many as --ps says");
DEFINE_string(bind_interface, "",
              "Network interface that PS nodes listen on and are reached by, one that each host "
              "has; default: loopback where all ranks are on one host, or else the first whose "
              "network all hosts share");
DEFINE_uint32(shards, 1, "Shards of each PS node; each is a thread with its own cache and store");
DEFINE_string(ps_endpoints, "",
              "PS nodes that run already (rowhouse ps); then every rank is a worker");
DEFINE_uint32(
    rpc_deadline_ms, 60000,
    "Longest wait for an answer of a shard; of ps: a job that was silent for so long gives "
    "way to the next; ms");
DEFINE_uint32(
    save_deadline_ms, 1800000,
    "Longest wait for a shard to write all rows back, or to digest them, and for room on a "
    "full disk of --model_dir; ms");
DEFINE_uint32(rendezvous_deadline_ms, 60000, "Longest wait for all ranks and PS nodes to meet; ms");
DEFINE_uint32(stop_deadline_ms, 30000, "Longest wait for a PS node to write its rows and end; ms");

// ---- Which shards own which rows ------------------------------------------------------------

DEFINE_string(strategy, "row_wise",
              "Which shards own which rows: row_wise, row_wise_hashed, column_wise, grid, "
              "replicated, skew_aware, fair, table_wise_lpt, _greedy, _round_robin or _shuffle");
DEFINE_string(
    capacities, "",
    "What each PS node can hold, relative to the others, in the order of the map that a run "
    "prints (2,1,1: the first twice as much); its shards share it alike; default: all the "
    "same. For row_wise, row_wise_hashed, skew_aware, fair, table_wise_lpt and _greedy");
DEFINE_uint32(row_cuts, 0, "grid: ranges of rows a table is cut into; 0: as many as it takes");
DEFINE_uint32(column_cuts, 0,
              "grid, column_wise: ranges of columns a row is cut into; 0: 2, one a shard");
DEFINE_uint64(strategy_seed, 111,
              "table_wise_shuffle, row_wise_hashed: seed of the order, below 2^32");
DEFINE_uint32(hot_rows, 1024, "skew_aware: hottest rows kept on the workers, at most");
DEFINE_string(pool_on, "workers",
              "Who pools bags: workers (from rows) or shards (which send sums)");
DEFINE_string(access_counts, "", "skew_aware: file of rowhouse plan --count_ids");
DEFINE_string(
    plan, "",
    "Plan to route by, a file of rowhouse plan --out, on the first worker's host; strategy "
    "is not asked");
DEFINE_uint64(ps_rows_mb, 0, "Rows and state that a plan may give a PS node; MiB, 0: any");

// ---- Output ---------------------------------------------------------------------------------

DEFINE_string(model_dir, "",
              "Directory for the dense part, the manifest and the report; default: "
              "nothing is kept");
DEFINE_string(
    report, "",
    "File for the run's report, JSON, with a page beside it (.html); default: report.json in "
    "--model_dir");
DEFINE_string(label, "",
              "What rowhouse compare calls the run; default: the last part of --model_dir");
DEFINE_bool(load, false, "Go on from the model in --model_dir");
DEFINE_bool(overwrite, false, "Delete an earlier model in --model_dir and --row_dir first");

// ---- rowhouse ps ----------------------------------------------------------------------------

DEFINE_string(listen, "tcp://*:0", "Where workers find this PS node; port 0: one that is free");
DEFINE_uint32(workers, 0, "Workers to expect; 0: as many as the first one says");
DEFINE_int32(supervisor_fd, -1, "Internal: pipe that ends when the supervisor does");
DEFINE_string(listen_fds, "", "Internal: sockets inherited from the supervisor");

namespace rowhouse {

std::span<const std::string> LogFlags() {
  static const std::vector<std::string> names = {
      "logtostderr", "alsologtostderr", "colorlogtostderr", "stderrthreshold",
      "minloglevel", "log_dir",         "log_prefix",       "max_log_size",
      "v",           "vmodule"};
  return names;
}

void SetLogDefaults() {
  gflags::SetCommandLineOptionWithMode("logtostderr", "true", gflags::SET_FLAGS_DEFAULT);
}

std::vector<std::string> GivenLogFlags() {
  std::vector<std::string> given;
  for (const std::string& name : LogFlags()) {
    const gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
    if (info.current_value == info.default_value) continue;
    given.push_back("--" + name + "=" + info.current_value);
  }
  return given;
}

}  // namespace rowhouse
