// Settings: everything the operator decides, once, before anything starts. The initialisers of the
// members below are the defaults, and the only place where these are written. The YAML file changes
// them first, then the flags on the command line (launch/command_line/command_line.h). After the
// checks all code gets the settings by const reference and reads no flag, file or environment
// variable itself.
//
// Each member has an entry in launch/settings/entries/, which gives its flag, its bounds and its
// help. Threads: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "launch/settings/save_every.h"
#include "ps/shard/node_options.h"
#include "sharding/plans/strategy.h"
#include "sharding/tables/embedding_tables.h"
#include "sharding/tables/logical_table.h"
#include "worker/data/dataset.h"
#include "worker/dense/dense_optimizer.h"
#include "worker/dense/lr_policy.h"
#include "worker/dense/model_spec.h"

namespace rowhouse {

struct TrainingSettings {
  int64_t test_mini_batch_size = -1;  // samples over all workers; -1: as data.mini_batch_size
  uint64_t nepochs = 1;
  double learning_rate = 0.01;       // the base rate of lr_policy
  std::string lr_policy = "poly2";   // name in LrPolicies()
  uint64_t lr_num_warmup_steps = 0;  // these three: see worker/dense/lr_policy.h
  uint64_t lr_decay_start_step = 0;
  uint64_t lr_num_decay_steps = 0;
  OptionValues lr_policy_own;          // of options that the policy declares itself
  std::string optimizer = "sgd";       // of the rows, and of the dense part unless it has its own
  std::string dense_optimizer;         // name in DenseOptimizers(); "": as optimizer
  OptimizerOptions optimizer_options;  // of the whole run; each optimizer takes those it knows
  double dense_learning_rate = -1.0;   // of the dense part; -1: learning_rate
  double dense_weight_decay = -1.0;    // -1: see Settings::dense_optimizer_options()
  double lookup_l2 = 0.0;              // see TrainingStepOptions
  int64_t print_freq = 1;              // steps between progress lines; below 1: none
  int64_t test_freq = -1;              // steps between tests; below 1: only at the end
  uint64_t early_stop_patience = 0;    // validations without a better one that end the run; 0: none
  std::string early_stop_metric = "auc";  // of validations, or logloss
  uint64_t plateau_patience = 0;  // validations without a better one that cut the rate; 0: none
  double plateau_factor = 0.1;    // of the rate, with each cut
  uint64_t progressive_freq = 0;  // steps of a window of progressive validation; 0: none
  int32_t print_precision = 5;    // digits of values printed by debug_mode
  bool debug_mode = false;        // print model, data and parameters as DLRM does
  uint64_t stop_after_steps = 0;  // of this run, then save and stop; 0: train to the end
  uint32_t accumulation = 1;      // pieces a step's samples are computed in, one after the other
  uint32_t threads = 1;           // compute threads of a worker; part of the promise
  uint32_t prefetch_steps = 8;    // steps ahead, at most, that shards hear of; see Lookahead

  LrPolicyOptions lr_policy_options() const;
};

// DLRM's flags that choose a kind for plain tables by their size; launch/settings/model_rules.h
// turns them into kinds.
struct CompressionSettings {
  bool qr_flag = false;
  uint64_t qr_threshold = 200;  // tables of more rows than this
  uint64_t qr_collisions = 4;
  std::string qr_operation = "mult";  // mult | add | concat
  bool qr_pool_first = false;         // pools the parts before they are combined, as DLRM does
  bool md_flag = false;
  uint64_t md_threshold = 200;
  double md_temperature = 0.3;
  bool md_round_dims = false;
};

struct ClusterSettings {
  int32_t ps = -1;                        // MPI ranks that are PS nodes; see PsRanks()
  uint32_t ps_per_host = 0;               // PS nodes of each host, instead of ps; 0: ps of them
  std::string bind_interface;             // of PS nodes; "": see InterfaceToListenOn()
  uint32_t shards = 1;                    // per PS node
  std::vector<std::string> ps_endpoints;  // "tcp://host:port" of PS nodes outside mpirun
  std::string key_file;                   // see launch/run/key_file.h
  bool open = false;                      // no key is asked for
  bool encrypt = false;                   // messages between workers and shards
  uint32_t rpc_deadline_ms = 60000;
  uint32_t save_deadline_ms = 1800000;  // to write all rows, to digest them, or to find room
  uint32_t rendezvous_deadline_ms = 60000;
  uint32_t stop_deadline_ms = 30000;
};

// Which shards own which rows. No bit of the model depends on it.
struct ShardingSettings {
  std::string strategy = "row_wise";  // name in ShardingStrategies(), of tables that name none
  std::vector<uint32_t> capacities;   // of PS nodes, relative to one another; none: all are alike
  StrategyOptions options;
  std::string pool_on = "workers";  // or shards; of tables that do not say
  std::string access_counts;        // file of rowhouse plan --count_ids; "": none
  std::string plan;                 // file of rowhouse plan --out; "": strategy makes the plan
  uint64_t ps_rows_mb = 0;          // MiB of rows and state of a PS node, at most; 0: any
  std::string calibration;          // file of rowhouse bench calibrate; "": this host's, if any
};

struct OutputSettings {
  std::string model_dir;             // dense part, manifest, report; "": nothing is kept
  std::string report;                // "": see Settings::report_path()
  std::string rows_digest = "auto";  // auto, always or never
  std::string label;                 // "": see Settings::run_label()
  bool load = false;                 // goes on from the model in model_dir
  bool overwrite = false;            // deletes an earlier model in model_dir and row_dir
  SaveEvery save_every;              // between checkpoints
  uint32_t keep = 2;                 // checkpoints kept
  std::string record_ids;            // trace of the ids looked up; "": none
  double record_ids_share = 1.0;     // of the ids of large plain tables
};

// Only of `rowhouse ps`.
struct ServerSettings {
  std::string listen = "tcp://*:0";  // where HELLO is answered
  std::string read_dirs;             // joined by commas (ps/store/readable_places.h)
  int32_t supervisor_fd = -1;        // pipe whose end of file means the supervisor is gone
  std::vector<int32_t> listen_fds;   // sockets that the supervisor listens on: HELLO, then shards
};

struct Settings {
  ModelSpec model;
  uint32_t sparse_feature_size = 2;  // floats in a row of a table, unless the YAML file says else
  LogicalTable table_defaults;       // what a table has unless the YAML file says otherwise
  std::vector<LogicalTable> tables;
  bool are_tables_given = false;    // by a flag or the YAML file
  bool are_tables_counted = false;  // each has a row for each token of its column of Criteo's data
  CompressionSettings compression;
  static constexpr const char* kOfFile = "dataset";  // DLRM's word for data of a file
  std::string data_generation;  // random | dataset | synthetic; "": dataset if there is a file
  DatasetOptions data;
  TrainingSettings training;
  NodeOptions storage;
  ClusterSettings cluster;
  ShardingSettings sharding;
  OutputSettings output;
  ServerSettings server;

  // By Complete(): numbers that DLRM's generator draws for the data that debug_mode prints, before
  // it draws any weight; 0 if it draws no weight, or if nothing is printed.
  uint64_t printing_draws = 0;

  // DLRM's defaults: three tables t0, t1, t2 of 4, 3 and 2 rows.
  Settings();

  // Makes tables t0, t1, ... of these sizes from table_defaults. If there are as many tables
  // already, they keep their names and options and only their sizes change.
  void SetTableRows(const std::vector<uint64_t>& rows);

  // Fills in what follows from other settings: data_generation, the kinds that DLRM's flags ask
  // for, which draws of DLRM's generator are whose, the physical tables, the shape of the model and
  // the data. Takes options given for the whole run away from tables whose optimizer has no use for
  // them. Call it once, when everything is set, and then Validate().
  void Complete();

  // By Complete(): the physical tables; empty if they cannot be made, and Validate() says why.
  EmbeddingTables embedding;

  // kUsage, one sentence, for every mistake that can be found before a file or port is opened.
  // `reads_data`: false for verbs that need no data file.
  Status Validate(bool reads_data = true) const;

  // Name in DenseOptimizers().
  std::string dense_optimizer() const;
  // What it is made with. Its weight decay is dense_weight_decay if given; or else 0.01 for adamw
  // (torch's default) and optimizer_weight_decay for others. The number of parameters is not set.
  DenseOptimizerOptions dense_optimizer_options() const;
  // Name in Datasets(): data_generation, but with dataset: "converted" if --data is a data
  // directory; or else the schema's format; or else "criteo".
  std::string data_source() const;
  uint64_t test_mini_batch_size() const;
  // Where this host keeps rows: row_dir; or else <model_dir>/rows; or else "": a directory of
  // this run alone, deleted at its end.
  std::string row_directory() const;
  // report; or else <model_dir>/report.json; or else "": no report.
  std::string report_path() const;
  // Whether the best model of a run by its validations is kept as a checkpoint.
  bool keeps_best() const;
  // Whether the run saves the model while it goes on.
  bool makes_checkpoints() const { return output.save_every.is_on() || keeps_best(); }
  // What comparisons call the run: label; or else the last part of model_dir; or else "".
  std::string run_label() const;

  // How many of `ranks` MPI ranks (1 without mpirun) are PS nodes; the others are workers.
  //   ps_endpoints given: 0; the PS nodes are there already.
  //   one rank:           0; the worker starts one PS node beside itself (ps may be -1 or 1).
  //   ps = -1:            half of the ranks, rounded down.
  // With ps_per_host the hosts decide (launch/hosts/roles.h), except that one rank starts one PS
  // node. kUsage if no worker is left, or no PS node.
  Result<uint32_t> PsRanks(uint32_t ranks) const;

  // Hex of XXH3-128 over everything that decides the trained bits: model, tables, data, batch,
  // seed, rate and its schedule, optimizers, threads. It leaves out the number of PS nodes and
  // shards, cache, store, directories (of the data file only its name counts), deadlines, what is
  // printed, and how long to train. Equal digests: a run may go on where another stopped.
  std::string config_digest() const;

 private:
  Status embedding_status_;
};

}  // namespace rowhouse
