#include "launch/command_line/output_flags.h"

#include <filesystem>
#include <vector>

#include "common/output_path.h"
#include "launch/command_line/verb_flags.h"
#include "launch/figures/json_output.h"
#include "launch/model/model_lock.h"
#include "launch/settings/setting_fields.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

namespace fs = std::filesystem;

// A file and what names it, as messages have it.
struct NamedFile {
  std::string flag, path;
};

bool IsOutput(std::string_view flag, std::string_view verb) {
  return flag == kJsonFlag || flag == kHtmlFlag || flag == kCsvFlag || flag == kOutFlag ||
         flag == "report" || flag == "record_ids" || (flag == "profile" && verb == "train");
}

// Numbers and switches name no file, though one may be called like them.
bool MayNameFiles(std::string_view flag) {
  const SettingField* const field = FindSettingField(flag);
  return field == nullptr || field->kind == SettingKind::kText ||
         field->kind == SettingKind::kTextList;
}

std::vector<NamedFile> OutputsOf(const CommandLine& command_line, const Settings& settings) {
  std::vector<NamedFile> all;
  for (const GivenFlag& flag : command_line.flags) {
    if (IsOutput(flag.name, command_line.verb)) all.push_back({"--" + flag.name, flag.value});
  }
  all.push_back({"--report", settings.output.report});
  all.push_back({"--record_ids", settings.output.record_ids});
  // Streams are written to, not replaced.
  std::erase_if(all, [](const NamedFile& output) {
    std::error_code ignored;
    return !fs::is_regular_file(output.path, ignored) || IsWrittenThrough(output.path);
  });
  return all;
}

void AddFiles(const std::string& flag, const std::string& list, std::vector<NamedFile>* all) {
  all->push_back({flag, list});  // The name of one file may have a comma.
  if (list.empty() || list == "-") return;
  const Result<std::vector<std::string>> files = ExpandFiles(list);
  if (!files.ok()) return;  // Whoever reads them says so.
  for (const std::string& file : files.value()) all->push_back({flag, file});
}

std::vector<NamedFile> InputsOf(const CommandLine& command_line, const Settings& settings) {
  std::vector<NamedFile> all;
  for (const GivenFlag& flag : command_line.flags) {
    const size_t file_ends = flag.origin.rfind(':');
    if (file_ends != std::string::npos) {
      all.push_back({"--flagfile", flag.origin.substr(0, file_ends)});
    }
    if (IsOutput(flag.name, command_line.verb) || !MayNameFiles(flag.name)) continue;
    AddFiles("--" + flag.name, flag.value, &all);
  }
  for (const std::string& argument : command_line.arguments) AddFiles(argument, argument, &all);
  AddFiles("--data", settings.data.file, &all);
  AddFiles("--test_data", settings.data.held_out.test_file, &all);
  AddFiles("--split_index", settings.data.held_out.split_index, &all);
  AddFiles("--plan", settings.sharding.plan, &all);
  return all;
}

}  // namespace

Status CheckOutputsAreNoInputs(const CommandLine& command_line, const Settings& settings) {
  const std::vector<NamedFile> outputs = OutputsOf(command_line, settings);
  if (outputs.empty()) return OkStatus();
  const std::vector<NamedFile> inputs = InputsOf(command_line, settings);
  for (const NamedFile& output : outputs) {
    for (const NamedFile& input : inputs) {
      std::error_code ignored;
      if (!fs::equivalent(input.path, output.path, ignored)) continue;
      return UsageError("{}={} would replace a file that is read ({}); name another", output.flag,
                        output.path, input.flag);
    }
  }
  return OkStatus();
}

Status CheckOutputFlags(const CommandLine& command_line) {
  const std::string_view of_compare = command_line.verb == "compare" ? kOutFlag : kCsvFlag;
  for (const std::string_view flag : {kJsonFlag, kHtmlFlag, kCsvFlag, of_compare}) {
    const std::string path = command_line.Value(flag);
    if (path.empty() || path == kJsonToStdout) continue;
    if (const Status status = CheckWritable(path); !status.ok()) {
      return UsageError("--{}={}", flag, status.message());  // It begins with the path.
    }
  }
  // Verbs check the rest of their --out themselves.
  for (const std::string_view flag : {kJsonFlag, kHtmlFlag, kCsvFlag, kOutFlag}) {
    if (const Status status = CheckOutsideModels(command_line.Value(flag)); !status.ok()) {
      return UsageError("--{}={}", flag, status.message());
    }
  }
  return OkStatus();
}

}  // namespace rowhouse
