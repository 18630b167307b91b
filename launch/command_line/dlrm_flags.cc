#include "launch/command_line/dlrm_flags.h"

#include <algorithm>
#include <vector>

namespace rowhouse {
namespace {

std::vector<DlrmFlag> MakeDlrmFlags() {
  using enum DlrmFlag::Fate;
  const std::string traces = "ids are not made from traces; see data_generation";
  const std::string quantised =
      "rows and layers are 32-bit floats; quantised ones do not exist yet";
  const std::string mlperf = "there is no MLPerf logging; report.json has the run's figures";
  const std::string no_early_end = "a run ends with its data; report.json has the test curve";
  const std::string binary_files = "binary files of Terabyte are not read; give text to --data";
  return {
      {"processed_data_file", "", false, kIgnored},
      {"num_workers", "0", false, kIgnored},
      {"test_num_workers", "-1", false, kIgnored},
      {"memory_map", "false", true, kIgnored},
      {"dataset_multiprocessing", "false", true, kIgnored},
      {"sync_dense_params", "true", true, kIgnored},
      {"print_time", "false", true, kIgnored},  // the time of a step is always printed
      {"print_wall_time", "false", true, kIgnored},
      {"enable_profiling", "false", true, kIgnored},
      {"plot_compute_graph", "false", true, kIgnored},
      {"tensor_board_filename", "run_kaggle_pt", false, kIgnored},

      {"activation_function", "relu", false, kRefused, "hidden layers have ReLU and nothing else"},
      {"data_trace_file", "./input/dist_emb_j.log", false, kRefused, traces},
      {"data_trace_enable_padding", "false", true, kRefused, traces},
      {"inference_only", "false", true, kRefused,
       "rowhouse predict scores a file with a trained model, rowhouse eval measures the model on "
       "one"},
      {"quantize_mlp_with_bit", "32", false, kRefused, quantised},
      {"quantize_emb_with_bit", "32", false, kRefused, quantised},
      {"save_onnx", "false", true, kRefused, "models are not exported to ONNX"},
      {"use_gpu", "false", true, kRefused, "Rowhouse trains on CPUs only"},
      {"local_rank", "-1", false, kRefused, "ranks come from mpirun"},
      {"dist_backend", "", false, kRefused, "workers meet over MPI; start them with mpirun"},
      {"save_model", "", false, kRefused,
       "a model is a directory: say --model_dir=DIRECTORY, and the run saves it there"},
      {"load_model", "", false, kRefused,
       "say --model_dir=DIRECTORY --load to go on from a model that a run saved there; models of "
       "torch are not read"},
      {"mlperf_logging", "false", true, kRefused, mlperf},
      {"mlperf_acc_threshold", "0.0", false, kRefused, no_early_end},
      {"mlperf_auc_threshold", "0.0", false, kRefused, no_early_end},
      {"mlperf_bin_loader", "false", true, kRefused, binary_files},
      {"mlperf_bin_shuffle", "false", true, kRefused, binary_files},
  };
}

}  // namespace

std::string DlrmFlag::dlrms_name() const {
  if (name == "local_rank") return "--local_rank";  // The only one that DLRM spells so.
  std::string text = "--" + name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::span<const DlrmFlag> DlrmFlags() {
  static const std::vector<DlrmFlag> flags = MakeDlrmFlags();
  return flags;
}

const DlrmFlag* FindDlrmFlag(std::string_view name) {
  for (const DlrmFlag& flag : DlrmFlags()) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

}  // namespace rowhouse
