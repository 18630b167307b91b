#include "launch/command_line/foreign_flags.h"

#include <gflags/gflags.h>

#include <algorithm>

#include "launch/command_line/verb_flags.h"

namespace rowhouse {
namespace {

constexpr std::string_view kLogFlags[] = {"logtostderr",     "alsologtostderr", "colorlogtostderr",
                                          "stderrthreshold", "minloglevel",     "log_dir",
                                          "log_prefix",      "max_log_size",    "v",
                                          "vmodule"};

constexpr std::string_view kNoTraces = "ids are not made from traces; see data_generation";
constexpr std::string_view kQuantisedScores = "training is in floats; say --inference_only, too";
constexpr std::string_view kNoEarlyEnd =
    "a run ends with its data or by --early_stop_patience; report.json has the test curve";
constexpr std::string_view kNoBinaryFiles =
    "MLPerf's binary files are read by --data_generation=criteo_binary --data=FILE";

constexpr DlrmFlag kDlrmFlags[] = {
    {"processed_data_file", ""},
    {"num_workers", "0"},
    {"test_num_workers", "-1"},
    {"memory_map", "false"},
    {"dataset_multiprocessing", "false"},
    {"sync_dense_params", "true"},
    {"print_time", "false"},  // the time of a step is always printed
    {"print_wall_time", "false"},
    {"enable_profiling", "false"},
    {"plot_compute_graph", "false"},
    {"tensor_board_filename", "run_kaggle_pt"},

    {"activation_function", "relu", "hidden layers have ReLU and nothing else"},
    {"data_trace_file", "./input/dist_emb_j.log", kNoTraces},
    {"data_trace_enable_padding", "false", kNoTraces},
    {kInferenceOnlyFlag, "false"},
    {"quantize_mlp_with_bit", "32", kQuantisedScores, kQuantizeMlpFlag},
    {"quantize_emb_with_bit", "32", kQuantisedScores, kQuantizeRowsFlag},
    {"save_onnx", "false", "models are not exported to ONNX"},
    {"use_gpu", "false", "Rowhouse trains on CPUs only"},
    {"local_rank", "-1", "ranks come from mpirun"},
    {"dist_backend", "", "workers meet over MPI; start them with mpirun"},
    {"save_model", "",
     "a model is a directory: say --model_dir=DIRECTORY, and the run saves it there"},
    {"load_model", "",
     "say --model_dir=DIRECTORY --load to go on from a model that a run saved there; models of "
     "torch are not read"},
    {"mlperf_logging", "false", "there is no MLPerf logging; report.json has the run's figures"},
    {"mlperf_acc_threshold", "0.0", kNoEarlyEnd},
    {"mlperf_auc_threshold", "0.0", kNoEarlyEnd},
    {"mlperf_bin_loader", "false", kNoBinaryFiles},
    {"mlperf_bin_shuffle", "false", kNoBinaryFiles},
};

}  // namespace

std::span<const std::string_view> LogFlags() { return kLogFlags; }

bool IsLogFlag(std::string_view name) { return std::ranges::count(kLogFlags, name) > 0; }

bool IsLogSwitch(std::string_view name) {
  return IsLogFlag(name) &&
         gflags::GetCommandLineFlagInfoOrDie(std::string(name).c_str()).type == "bool";
}

void SetLogDefaults() {
  gflags::SetCommandLineOptionWithMode("logtostderr", "true", gflags::SET_FLAGS_DEFAULT);
}

std::vector<std::string> GivenLogFlags() {
  std::vector<std::string> given;
  for (const std::string_view name : kLogFlags) {
    const auto info = gflags::GetCommandLineFlagInfoOrDie(std::string(name).c_str());
    if (info.current_value == info.default_value) continue;
    given.push_back("--" + info.name + "=" + info.current_value);
  }
  return given;
}

std::string DlrmFlag::dlrms_name() const {
  std::string text = "--" + std::string(name);
  // DLRM spells one of its flags with _.
  if (name != "local_rank") std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::span<const DlrmFlag> DlrmFlags() { return kDlrmFlags; }

const DlrmFlag* FindDlrmFlag(std::string_view name) {
  const auto* const found = std::ranges::find(kDlrmFlags, name, &DlrmFlag::name);
  return found == std::end(kDlrmFlags) ? nullptr : found;
}

}  // namespace rowhouse
