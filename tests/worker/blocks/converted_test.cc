// The dataset over a data directory.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/testing/sample_blocks.h"
#include "tests/testing/testing.h"
#include "worker/data/blocks/converted_dataset.h"

namespace rowhouse {
namespace {

class ConvertedTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteSampleData(path_, columns_, 100, 16);
    options_.file = path_;
    options_.shape.dense_features = 2;
    options_.shape.table_rows = {1000, 9};
    options_.randomize = "none";
  }
  Result<std::unique_ptr<Dataset>> Make() { return Datasets().Make("converted", options_); }
  std::string Error() {
    const Status status = Make().status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    return status.message();
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "data";
  const DataColumns columns_ = SampleColumns(2, {1000, 9}, true);
  DatasetOptions options_;
};

TEST_F(ConvertedTest, GivesTrainAndTestSamples) {
  options_.held_out.test_fraction = 0.2;
  const auto data = Make().value();
  ASSERT_EQ(data->train_samples(), 80u);
  ASSERT_EQ(data->test_samples(), 20u);
  Batch batch;
  ASSERT_OK(data->ReadTrain(0, 10, 30, &batch));
  ExpectSame(batch, SampleBatch(columns_, 10, 30));
  ASSERT_OK(data->ReadTest(5, 15, &batch));
  ExpectSame(batch, SampleBatch(columns_, 85, 15));
  EXPECT_EQ(data->content_digest(), DataDirectory::Open(path_).value()->content_digest());
}

TEST_F(ConvertedTest, TestSamplesMayComeFromOtherData) {
  WriteSampleData(dir_ / "tests", columns_, 7, 3);
  options_.held_out.test_file = dir_ / "tests";
  const auto data = Make().value();
  EXPECT_EQ(data->train_samples(), 100u);
  ASSERT_EQ(data->test_samples(), 7u);
  Batch batch;
  ASSERT_OK(data->ReadTest(1, 6, &batch));
  ExpectSame(batch, SampleBatch(columns_, 1, 6));
  options_.held_out.test_fraction = 0.1;
  EXPECT_THAT(Error(), testing::HasSubstr("give one of them"));
}

TEST_F(ConvertedTest, ReadingAheadDoesNotChangeWhatIsRead) {
  options_.randomize = "blocks";
  const auto data = Make().value();
  const auto slice = [&](uint64_t epoch, uint64_t first, uint64_t count) {
    Batch got, expected;
    EXPECT_OK(data->ReadTrain(epoch, first, count, &got));
    EXPECT_OK(Make().value()->ReadTrain(epoch, first, count, &expected));
    ExpectSame(got, expected);
  };
  for (uint64_t first = 0; first + 10 <= 100; first += 10) slice(0, first, 10);
  slice(1, 0, 7);
  slice(1, 10, 7);
  slice(1, 20, 6);  // As long as no one guessed.
  slice(1, 30, 6);
  slice(1, 5, 6);  // Back.
  slice(2, 15, 6);
  Batch batch;
  ASSERT_OK(data->ReadTest(0, 0, &batch));
}

TEST_F(ConvertedTest, ADamagedBlockIsAnErrorWhenItsSamplesAreAskedFor) {
  const BlockPlace place = DataDirectory::Open(path_).value()->description().blocks[2];
  std::fstream file(path_ + "/samples.bin", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(place.offset + 60));
  file.put('\x7f');
  file.close();
  const auto data = Make().value();
  Batch batch;
  ASSERT_OK(data->ReadTrain(0, 0, 16, &batch));
  ASSERT_OK(data->ReadTrain(0, 16, 16, &batch));  // Block 2 is read ahead now.
  const Status status = data->ReadTrain(0, 32, 16, &batch);
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_THAT(status.message(), testing::HasSubstr("samples.bin: block 2 (samples from 32)"));
}

TEST_F(ConvertedTest, ColumnsComeInTheOrderOfTheTablesNames) {
  options_.shape.table_names = {"c1", "c0"};
  options_.shape.table_rows = {9, 1000};
  Batch batch, expected = SampleBatch(columns_, 0, 10);
  ASSERT_OK(Make().value()->ReadTrain(0, 0, 10, &batch));
  std::swap(expected.features[0], expected.features[1]);
  ExpectSame(batch, expected);
  options_.shape.table_names = {"c0", "user"};
  EXPECT_THAT(Error(), testing::HasSubstr("has no categorical column \"user\""));
  options_.shape.table_names = {"t0", "t1"};
  options_.shape.table_rows = {1000, 9};
  EXPECT_OK(Make());
}

TEST_F(ConvertedTest, DataThatDoNotFitTheModelAreRefusedInWords) {
  options_.shape.dense_features = 3;
  EXPECT_THAT(Error(), testing::HasSubstr("set the first width of arch_mlp_bot to 2"));
  options_.shape.dense_features = 2;
  options_.shape.table_rows = {1000, 9, 9};
  EXPECT_THAT(Error(), testing::HasSubstr("give arch_embedding_size=1000-9"));
  options_.shape.table_rows = {999, 9};
  EXPECT_THAT(Error(), testing::HasSubstr("column \"c0\" has ids below 1000, and table 0 has 999"));
  options_.shape.takes_bad_ids = {true, false};
  EXPECT_OK(Make());
  options_.file = dir_.path();
  EXPECT_THAT(Error(), testing::HasSubstr("is no data directory"));
}

TEST_F(ConvertedTest, DenseColumnsAreThoseOfTheSchemaByNameAndOrder) {
  options_.text.schema.dense = {{.name = "d0"}, {.name = "d1"}};
  EXPECT_OK(Make());
  std::swap(options_.text.schema.dense[0], options_.text.schema.dense[1]);
  EXPECT_THAT(Error(), testing::HasSubstr("the model's dense columns are d1, d0 and those of \"" +
                                          path_ + "\" are d0, d1"));
}

TEST_F(ConvertedTest, APreprocessingThatIsNamedAndGoneIsRefused) {
  auto json = nlohmann::json::parse(std::ifstream(path_ + "/data.json"));
  json["preprocessing_digest"] = "0123456789abcdef";
  std::ofstream(path_ + "/data.json") << json;
  EXPECT_THAT(Error(), testing::HasSubstr("names a preprocessing (digest 0123456789abcdef), and "
                                          "preprocessing.json is gone"));
}

TEST_F(ConvertedTest, ARunGoesOnFromAnyPosition) {
  const auto data = Make().value();
  const Result<DatasetState> state = data->StateAt(3, 17);
  ASSERT_OK(state);
  EXPECT_EQ(state.value(), DatasetState());  // There is no preprocessing.
  EXPECT_OK(Make().value()->GoOnFrom(3, 17, state.value()));
  EXPECT_EQ(Make().value()->GoOnFrom(3, 17, {.position = "x"}).code(), StatusCode::kUsage);
}

}  // namespace
}  // namespace rowhouse
