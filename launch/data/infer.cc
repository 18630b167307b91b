// rowhouse data infer FILE ...: writes a config for files of unknown columns, from a look at them.
#include <fmt/ranges.h>

#include <cstdio>

#include "common/clean_text.h"
#include "common/output_path.h"
#include "launch/command_line/verb_flags.h"
#include "launch/data/data_verb.h"
#include "launch/data/inferred_config.h"
#include "launch/settings/yaml_config.h"
#include "worker/data/infer/inference.h"
#include "worker/data/text/first_look.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

// A config that is refused when it is used would be a fault of the guess.
Status CheckConfig(const std::string& text) {
  Settings settings;
  RETURN_IF_ERROR(ReadYamlText(text, "the inferred config", &settings));
  settings.Complete();
  return settings.Validate(false);
}

Result<Inferred> InferFiles(const std::vector<std::string>& files, const std::string& label) {
  ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open(files, false, kFirstLookBytes));
  TextChunk head;
  ASSIGN_OR_RETURN(const bool has_text, chunks.Next(&head));
  const std::string format = has_text && label.empty() ? GuessFormat(files[0], head.bytes) : "";
  if (!format.empty()) return InferByFormat(format, files);
  ASSIGN_OR_RETURN(const TextLook look, LookAtText({.files = files}));
  return InferSchema(look, label);
}

Status Infer(const CommandLine& command_line, const std::vector<std::string>& arguments,
             const Settings& settings) {
  std::string list = fmt::format("{}", fmt::join(arguments, ","));
  if (list.empty()) list = settings.data.file;
  if (list.empty()) return UsageError("data infer: which file? rowhouse data infer FILE > my.yaml");
  if (list == "-") {
    return UsageError("data infer reads its files more than once: give a file, not standard input");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFiles(list));
  ASSIGN_OR_RETURN(const Inferred inferred,
                   InferFiles(files, command_line.Value(kLabelColumnFlag)));
  for (const std::string& note : inferred.notes) {
    fmt::print(stderr, "note: {}\n", CleanText(note));
  }
  const std::string text = ConfigText(inferred, list);
  RETURN_IF_ERROR(CheckConfig(text));
  const std::string out = command_line.Value(kOutFlag);
  if (!out.empty() && out != "-") return WriteOutput(out, text);
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

REGISTER_MEMBER(AddDataCommand({.name = "infer",
                                .arguments = "FILE ... > my.yaml",
                                .what = "guesses a config from a look at the files",
                                .run = Infer}));

}  // namespace
}  // namespace rowhouse
