// docs/predict.md's PyTorch program, word for word, with the reader of docs/data_format.md: it
// gives the scores of rowhouse predict. And docs/traces.md's, which writes traces of torch as text;
// and the yardstick of lookups (tests/bench).
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "launch/bench/child_run.h"
#include "tests/testing/process.h"
#include "worker/data/blocks/block.h"
#include "worker/data/blocks/data_directory.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/traces/trace_reader.h"

namespace rowhouse {
namespace {

constexpr const char* kPytorchPython = "/usr/bin/python3";  // Debian's: it has Debian's modules

// The block of Python behind `<!-- mark -->` on a page of docs/.
std::string CodeOf(const std::string& page, const std::string& mark) {
  const std::string text = FileText(fmt::format("{}/docs/{}", ROWHOUSE_SOURCE_DIR, page));
  const size_t at = text.find(fmt::format("<!-- {} -->", mark));
  CHECK(at != std::string::npos) << page << " has no code marked " << mark;
  const size_t begin = text.find("```python\n", at) + 10;
  return text.substr(begin, text.find("```", begin) - begin);
}

bool HasTorch() {
  return RunCommand({.arguments = {kPytorchPython, "-c", "import torch, numpy"}}).exit_code == 0;
}

// Samples of two dense columns and three tables with bags of 0 to 3 ids.
void WriteData(const std::string& path) {
  const DataColumns columns = {.dense = {"x", "y"},
                               .categorical = {"plain", "qr", "weighed"},
                               .rows = {50, 60, 30},
                               .has_weights = false};
  std::mt19937 random(7);
  Batch batch;
  batch.Clear(2, 3);
  for (size_t s = 0; s < 600; ++s, ++batch.samples) {
    batch.dense.push_back(static_cast<float>(random() % 1000) / 500.0f - 1.0f);
    batch.dense.push_back(static_cast<float>(random() % 7));
    batch.labels.push_back(static_cast<float>(random() % 2));
    for (size_t k = 0; k < 3; ++k) {
      for (size_t i = random() % 4; i > 0; --i) {
        batch.features[k].ids.push_back(random() % columns.rows[k]);
        if (k == 2) batch.features[k].weights.push_back(0.25f * static_cast<float>(random() % 9));
      }
      batch.features[k].EndBag();
    }
  }
  const Result<EncodedBlock> block = EncodeBlock(columns, batch);
  ASSERT_OK(block);
  const auto writer = DataWriter::Open(path, columns);
  ASSERT_OK(writer);
  ASSERT_OK(writer.value()->Append(block.value()));
  ASSERT_OK(writer.value()->Finish({}, ""));
}

// The program of the docs with its layers quantised by torch, in `dir`, beside our scores. Torch
// rounds all of a layer's weights by one scale, and all inputs of a batch.
void CompareInt8(const TempDir& dir, const ProcessResult& scored) {
  ASSERT_EQ(scored.exit_code, 0) << scored.Describe();
  const std::string import = "from torch.nn.functional import batch_norm, embedding_bag, linear\n";
  std::string program = CodeOf("predict.md", "pytorch");
  ASSERT_NE(program.find(import), std::string::npos);
  program.replace(program.find(import), import.size(),
                  "from torch.nn.functional import batch_norm, embedding_bag\n"
                  "torch.backends.quantized.engine = 'qnnpack'\n"
                  "def linear(x, weights, bias):\n"
                  "    layer = torch.nn.Linear(weights.shape[1], weights.shape[0])\n"
                  "    layer.weight.data, layer.bias.data = weights, bias.reshape(-1)\n"
                  "    layer = torch.nn.Sequential(layer)\n"
                  "    return torch.quantization.quantize_dynamic(layer, {torch.nn.Linear})(x)\n");
  std::ofstream(dir / "score_int8.py") << program;
  const ProcessResult torch = RunCommand(
      {.arguments = {kPytorchPython, "-B", dir / "score_int8.py", dir / "export", dir / "data"},
       .directory = dir.path()});
  ASSERT_EQ(torch.exit_code, 0) << torch.Describe();
  std::istringstream ours(scored.out), theirs(torch.out);
  double difference = 0.0;
  for (size_t s = 0; s < 600; ++s) {
    double our_score = 0.0, label = 0.0, their_score = 0.0;
    ASSERT_TRUE(ours >> our_score >> label) << s;
    ASSERT_TRUE(theirs >> their_score) << s;
    EXPECT_NEAR(our_score, their_score, 3e-2) << s;
    difference += std::abs(our_score - their_score);
  }
  EXPECT_LT(difference / 600, 1e-2);
}

void CompareWithTheProgramOfTheDocs(const std::string& of_model) {
  if (!HasTorch()) GTEST_SKIP() << "Debian's python3-torch and python3-numpy are not installed";
  const TempDir dir;
  ASSERT_NO_FATAL_FAILURE(WriteData(dir / "data"));
  std::ofstream(dir / "model.yaml")
      << "model: {arch_mlp_bot: [2, 16, 8], arch_mlp_top: [16, 1], arch_sparse_feature_size: 8,\n"
         "        loss_function: bce"
      << of_model
      << "}\n"
         "training: {mini_batch_size: 20, learning_rate: 0.1, optimizer: adagrad, nepochs: 3}\n"
         "tables:\n  list:\n"
         "  - {name: plain, rows: 50, pooling: mean}\n"
         "  - {name: qr, kind: qr, collisions: 4, rows: 60}\n"
         "  - {name: weighed, kind: block, block_dim: 3, rows: 30}\n";
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    arguments.push_back("--model_dir=" + dir / "model");
    return RunCommand({.arguments = std::move(arguments)});
  };
  const ProcessResult trained = run({"train", "--config=" + dir / "model.yaml",
                                     "--data_generation=dataset", "--data=" + dir / "data"});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  const ProcessResult scored = run({"predict", "--data=" + dir / "data", "--out=-"});
  ASSERT_EQ(scored.exit_code, 0) << scored.Describe();
  const ProcessResult exported = run({"ckpt", "export", "--out=" + dir / "export"});
  ASSERT_EQ(exported.exit_code, 0) << exported.Describe();

  std::ofstream(dir / "rowhouse_data.py") << CodeOf("data_format.md", "read");
  std::ofstream(dir / "score.py") << CodeOf("predict.md", "pytorch");
  const ProcessResult torch = RunCommand(
      {.arguments = {kPytorchPython, "-B", dir / "score.py", dir / "export", dir / "data"},
       .directory = dir.path()});
  ASSERT_EQ(torch.exit_code, 0) << torch.Describe();

  std::istringstream ours(scored.out), theirs(torch.out);
  for (size_t s = 0; s < 600; ++s) {
    double our_score = 0.0, label = 0.0, their_score = 0.0;
    ASSERT_TRUE(ours >> our_score >> label) << s;
    ASSERT_TRUE(theirs >> their_score) << s;
    EXPECT_NEAR(our_score, their_score, 1e-6) << s;
  }
  ASSERT_NO_FATAL_FAILURE(
      CompareInt8(dir, run({"predict", "--data=" + dir / "data", "--out=-", "--quantize_mlp=8"})));
}

TEST(PyTorch, TheProgramOfTheDocsGivesTheScoresOfPredict) { CompareWithTheProgramOfTheDocs(""); }

TEST(PyTorch, TheProgramOfTheDocsGivesTheScoresOfAWideModel) {
  CompareWithTheProgramOfTheDocs(", wide: true");
}

TEST(PyTorch, TheProgramOfTheDocsGivesTheScoresOfANormalisedModel) {
  CompareWithTheProgramOfTheDocs(", batch_norm: true");
}

// docs/predict.md's program for tokens, word for word; of texts their keys.
TEST(Export, SaysWhichTokenIsWhichRow) {
  if (RunCommand({.arguments = {kPytorchPython, "-c", "import numpy"}}).exit_code != 0) {
    GTEST_SKIP() << "Debian's python3-numpy is not installed";
  }
  const TempDir dir;
  std::ofstream clicks(dir / "clicks.csv");
  clicks << "user,shop,price,click\n";
  for (int i = 0; i < 400; ++i) {
    clicks << fmt::format("{},shop {},{}.5,{}\n", 3 * (i % 50) - 60, i % 7, i % 9,
                          i % 3 == 0 ? 1 : 0);
  }
  clicks.close();
  std::ofstream(dir / "my.yaml")
      << "model: {arch_mlp_bot: [1, 4], arch_mlp_top: [4, 1], arch_sparse_feature_size: 4,\n"
         "        loss_function: bce, wide: true}\n"
         "training: {mini_batch_size: 20, optimizer: adagrad, learning_rate: 0.1}\n"
         "schema:\n"
         "  format: delimited\n"
         "  label: {column: click}\n"
         "  dense: [{name: price, transform: standardise}]\n"
         "  categorical:\n"
         "    - {name: user, token: integer, ids: dictionary, rare_row: true}\n"
         "    - {name: shop, ids: dictionary}\n"
         "tables: {list: [{name: user, rows: 60}, {name: shop, rows: 9}]}\n";
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    arguments.push_back("--model_dir=" + dir / "model");
    const ProcessResult result = RunCommand({.arguments = std::move(arguments)});
    EXPECT_EQ(result.exit_code, 0) << result.Describe();
    return result;
  };
  run({"train", "--config=" + dir / "my.yaml", "--data=" + dir / "clicks.csv"});
  run({"ckpt", "export", "--out=" + dir / "export"});

  std::ofstream(dir / "vector_of.py") << CodeOf("predict.md", "tokens");
  const auto vector_of = [&](const std::string& token) {
    return RunCommand(
        {.arguments = {kPytorchPython, "-B", dir / "vector_of.py", dir / "export", "user", token}});
  };
  const ProcessResult found = vector_of("-57");  // the second user, behind the row of rare ones
  EXPECT_EQ(found.exit_code, 0) << found.Describe();
  EXPECT_THAT(found.out, testing::MatchesRegex("2( -?[0-9.e-]+){4}\n"));
  EXPECT_NE(vector_of("1000").exit_code, 0);
  // XXH3-64 of "shop 1", the second shop.
  const std::string shops = FileText(dir / "export/emb_l.1.tokens.tsv");
  EXPECT_THAT(shops, testing::HasSubstr(
                         fmt::format("\n1\t{:016x}\n", *TokenKey(TokenType::kString, "shop 1"))));
  EXPECT_EQ(std::ranges::count(shops, '\n'), 7);
}

// What torch packs of the floats of an export is what a quantised export of them holds, and torch's
// own lookups read it. argv: the exports of floats and of quantised rows, bits.
constexpr const char* kReadQuantised = R"(
import sys
import numpy, torch

floats, packed, bits = sys.argv[1:]
floats = torch.from_numpy(numpy.load(floats + "/table-t0.npy"))
packed = torch.from_numpy(numpy.load(packed + "/table-t0.npy"))
if bits == "16":
    assert torch.equal(packed, floats.half())
    sys.exit()
ops, name = torch.ops.quantized, "embedding_bag_" + {"8": "byte", "4": "4bit", "2": "2bit"}[bits]
assert torch.equal(packed, getattr(ops, name + "_prepack")(floats))
values = getattr(ops, name + "_unpack")(packed)
assert values.shape == floats.shape and (values - floats).abs().max() < 0.5
if bits != "2":
    ids, offsets = torch.arange(600) * 7 % len(floats), torch.arange(0, 601, 20)
    pooled = getattr(ops, name + "_rowwise_offsets")(packed, ids, offsets, include_last_offset=True)
    want = values[ids].reshape(30, 20, -1).sum(1)
    assert (pooled - want).abs().max() < 1e-5, (pooled - want).abs().max()
)";

TEST(PyTorch, ReadsQuantisedExportsAsItsOwn) {
  if (!HasTorch()) GTEST_SKIP() << "Debian's python3-torch and python3-numpy are not installed";
  const TempDir dir;
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROWHOUSE_BINARY);
    arguments.push_back("--model_dir=" + dir / "model");
    return RunCommand({.arguments = std::move(arguments)});
  };
  const ProcessResult trained =
      run({"train", "--arch_embedding_size=4000-40", "--arch_sparse_feature_size=20",
           "--arch_mlp_bot=5-20", "--arch_mlp_top=8-1", "--mini_batch_size=40",
           "--optimizer=adagrad", "--learning_rate=0.1", "--loss_function=bce",
           "--data_generation=synthetic", "--data_size=4000"});
  ASSERT_EQ(trained.exit_code, 0) << trained.Describe();
  std::ofstream(dir / "read.py") << kReadQuantised;
  const auto export_to = [&](const std::string& name, std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"ckpt", "export", "--stored", "--out=" + dir / name});
    const ProcessResult exported = run(flags);
    EXPECT_EQ(exported.exit_code, 0) << exported.Describe();
  };
  export_to("floats", {});
  for (const std::string bits : {"16", "8", "4", "2"}) {
    export_to(bits, {"--quantize_rows=" + bits});
    const ProcessResult torch = RunCommand(
        {.arguments = {kPytorchPython, "-B", dir / "read.py", dir / "floats", dir / bits, bits}});
    EXPECT_EQ(torch.exit_code, 0) << torch.Describe();
  }
}

// The ids of each table of 3, by its number, and where its bags begin.
std::vector<Bags> BagsOfText(const std::string& text) {
  const TempDir dir;
  std::ofstream(dir / "ids") << text;
  const auto trace = OpenTrace(dir / "ids");
  CHECK(trace.ok()) << trace.status().ToString();
  std::vector<Bags> read, features(3);
  CHECK_EQ(trace.value()->Read(10, &read).value(), 4u);
  for (size_t t = 0; t < 3; ++t) {
    features.at(std::stoul(trace.value()->tables().at(t).name)) = read[t];
  }
  return features;
}

TEST(PyTorch, TheProgramOfTheDocsWritesTracesOfTorchAsText) {
  using testing::ElementsAre;
  if (!HasTorch()) GTEST_SKIP() << "Debian's python3-torch and python3-numpy are not installed";
  const TempDir dir;
  std::ofstream(dir / "torch_trace.py") << CodeOf("traces.md", "torch");
  const auto run = [&](const std::string& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {kPytorchPython, "-B", dir / "torch_trace.py", file};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunCommand({.arguments = std::move(arguments)});
  };
  const std::string tiny = ROWHOUSE_TEST_VECTORS "/dlrm_datasets_tiny.pt";
  ASSERT_EQ(
      RunCommand({.arguments = {"/bin/sh", "-c", "gzip -c " + tiny + " > " + dir / "t.pt.gz"}})
          .exit_code,
      0);
  for (const std::string& file :
       {tiny, dir / "t.pt.gz", std::string(ROWHOUSE_TEST_VECTORS "/dlrm_datasets_tiny_old.pt")}) {
    const ProcessResult written = run(file);
    ASSERT_EQ(written.exit_code, 0) << written.Describe();
    const std::vector<Bags> features = BagsOfText(written.out);
    EXPECT_THAT(features[0].ids, ElementsAre(5, 7, 5, 9));
    EXPECT_THAT(features[0].offsets, ElementsAre(0, 1, 3, 3, 4));
    EXPECT_THAT(features[1].ids, ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(features[1].offsets, ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(features[2].ids, ElementsAre(100'000, 3, 100'000, 8, 3));
    EXPECT_THAT(features[2].offsets, ElementsAre(0, 0, 0, 3, 5));
  }
  EXPECT_EQ(run(tiny, {"1"}).out, "0 5\n1 0\n\n");
}

TEST(PyTorch, LooksUpBagsOfEveryShape) {
  if (!HasTorch()) GTEST_SKIP() << "Debian's python3-torch and python3-numpy are not installed";
  const auto measured =
      RunTorchScript("bags_torch.py", {"--floats=65536", "--out_floats=1024", "1x16", "20x256"});
  ASSERT_OK(measured);
  ASSERT_EQ(measured.value().size(), 2u);
  for (const nlohmann::json& of_shape : measured.value()) {
    EXPECT_GT(of_shape.at("cpu_ns_per_row"), 0.0);
    EXPECT_GT(of_shape.at("wall_ns_per_row"), 0.0);
  }
  EXPECT_EQ(RunTorchScript("bags_torch.py", {"1x16"}).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace rowhouse
