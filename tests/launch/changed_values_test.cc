// Every value of a saved model's manifest.json and config.yaml, changed or taken away alone:
// whoever reads the model refuses it by the name of the file.
#include <nlohmann/json.hpp>
#include <regex>

#include "common/durable_file.h"
#include "launch/model/last_save.h"
#include "launch/model/model_settings.h"
#include "launch/model/scoring_model.h"
#include "launch/settings/going_on.h"
#include "launch/settings/yaml_config.h"
#include "tests/testing/testing.h"
#include "worker/embedding/worker_rows.h"

namespace rowhouse {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json Other(const json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number_float()) return value.get<double>() + 0.5;
  if (value.is_number()) return value.get<uint64_t>() + 1;
  if (value.is_string() && value != "") {
    std::string text = value.get<std::string>();
    text.back() = text.back() == '1' ? '2' : '1';
    return text;
  }
  return "1";
}

// A model whose rows are all on the workers, with files of every kind.
class ChangedValues : public testing::Test {
 protected:
  ChangedValues() {
    CHECK(ReadYamlText("model: {arch_sparse_feature_size: 4, arch_mlp_bot: 3-4,"
                       " arch_mlp_top: 7-1}\n"
                       "data: {data_generation: synthetic, synthetic_test_samples: 10}\n"
                       "training: {optimizer: adagrad}\n"
                       "tables: {list: [{name: user, rows: 6}, {name: geo, rows: 5}]}\n",
                       "test", &settings_)
              .ok());
    settings_.output.model_dir = dir_.path();
    settings_.Complete();
    Manifest manifest;
    manifest.model_id = "00112233445566778899aabbccddeeff";
    manifest.config_digest = settings_.config_digest();
    manifest.model_settings = ModelSettingsDigest(settings_);
    manifest.data_settings = DataSettingsDigest(settings_);
    manifest.data_digest = "d1";
    manifest.steps = 12;
    manifest.steps_per_epoch = 5;
    manifest.rows_digest = "00000000000000000000000000000001";
    manifest.tables = settings_.embedding.physical;
    manifest.plan =
        Plan::Make(manifest.tables, 1,
                   {{TableId{0}, 0, 6, 0, 4, kOnWorkers}, {TableId{1}, 0, 5, 0, 4, kOnWorkers}})
            .value();
    manifest.shards = {{ShardId{0}, "here", ""}};
    std::vector<float> dense(Dense());
    CHECK(SaveModel(dir_.path(), manifest,
                    {.dense = dense,
                     .dense_values = dense.size(),
                     .config_yaml = WriteYamlText(settings_),
                     .data = {.position = "7:40", .files = {{.kind = "scales", .bytes = "12"}}},
                     .curve = "a curve"})
              .ok());
  }

  // Floats of the dense file.
  size_t Dense() const {
    ForwardPass shape(settings_.model, settings_.embedding);
    DenseOptimizerOptions options = settings_.dense_optimizer_options();
    options.parameters = shape.dense().size();
    const auto optimizer = DenseOptimizers().Make(settings_.dense_optimizer(), options).value();
    const RecordLayout row{.dim = 4, .state_floats = 4};
    return shape.dense().size() + optimizer->state().size() + 11 * row.bytes() / sizeof(float);
  }

  // What eval, predict, ckpt and train --load read, by function; each as it ended.
  std::vector<Status> ReadAll() const {
    const std::string& model = dir_.path();
    std::vector<Status> read = {ReadManifest(model).status(), SavedRows::Open(model).status(),
                                FindLastSave(model, "", "here").status()};
    const Result<Manifest> manifest = ReadManifest(model);
    const auto reads_settings = [&]() -> Status {
      RETURN_IF_ERROR(manifest.status());
      return ReadModelSettings(model, manifest.value()).status();
    };
    const auto scores = [&]() -> Status {
      RETURN_IF_ERROR(manifest.status());
      return CheckSettingsToScore(settings_, model, manifest.value());
    };
    read.push_back(reads_settings());
    read.push_back(scores());
    read.push_back(ScoringModel::Open(settings_, {}).status());
    return read;
  }

  TempDir dir_;
  Settings settings_;
};

TEST_F(ChangedValues, TheModelAsSavedIsRead) {
  for (const Status& status : ReadAll()) EXPECT_OK(status);
}

TEST_F(ChangedValues, OfTheManifestAreAllRefused) {
  const std::string path = dir_ / "manifest.json", text = ReadFile(path).value();
  const json saved = json::parse(text);
  ASSERT_EQ(saved.dump(1) + "\n", text) << "so that only the value is another";
  int changed = 0;
  const auto is_refused = [&](const json& other, const std::string& where) {
    SCOPED_TRACE(where);
    ASSERT_OK(WriteFileDurably(path, other.dump(1) + "\n"));
    for (const Status& status : ReadAll()) {
      EXPECT_FALSE(status.ok());
      EXPECT_THAT(status.message(), HasSubstr("manifest.json"));
    }
    ++changed;
  };
  const json flat = saved.flatten();
  for (const auto& item : flat.items()) {
    const json::json_pointer at(item.key());
    json other = saved;
    other.at(at) = Other(saved.at(at));
    is_refused(other, item.key() + " changed");
    other = saved;
    json& parent = other.at(at.parent_pointer());
    if (parent.is_array()) {
      parent.erase(std::stoul(at.back()));
    } else {
      parent.erase(at.back());
    }
    is_refused(other, item.key() + " taken away");
  }
  EXPECT_GT(changed, 100);
  // An older version's manifest has no seal; one that is said to be older has.
  json older = saved;
  older["format_version"] = 2;
  is_refused(older, "said to be of version 2");
}

TEST_F(ChangedValues, OfTheConfigAreAllRefused) {
  const std::string path = dir_ / "config.yaml", text = ReadFile(path).value();
  const std::regex value(R"(\w+: ("[^"]*"|\[[^\]]*\]|[^ ,}\n{]+))");
  int changed = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), value), end; at != end; ++at) {
    SCOPED_TRACE(at->str());
    std::string other = text;
    const auto place = static_cast<size_t>(at->position(1));
    other.replace(place, static_cast<size_t>(at->length(1)), (*at)[1] == "7" ? "8" : "7");
    for (const std::string& now :
         {other, std::string(text).erase(static_cast<size_t>(at->position()),
                                         static_cast<size_t>(at->length()))}) {
      ASSERT_OK(WriteFileDurably(path, now));
      const std::vector<Status> read = ReadAll();
      for (size_t reader = 3; reader < read.size(); ++reader) {  // The others do not read it.
        EXPECT_EQ(read[reader].code(), StatusCode::kCorruption) << reader;
        EXPECT_THAT(read[reader].message(), HasSubstr("config.yaml is not the file that was"));
      }
      ++changed;
    }
  }
  EXPECT_GT(changed, 200);
}

}  // namespace
}  // namespace rowhouse
