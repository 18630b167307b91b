#include <cmath>

#include "tests/testing/testing.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LibsvmTest : public testing::Test {
 protected:
  void Read(const std::string& text) {
    TextChunk chunk;
    chunk.file_name = "data.svm";
    chunk.first_record = std::make_shared<const std::string>(text.substr(0, text.find('\n')));
    chunk.is_first_of_file = true;
    chunk.bytes = text;
    bad_.clear();
    const auto format = TextFormats().Make("libsvm", options_);
    ASSERT_OK(format);
    ASSERT_OK(format.value()->Parse(chunk, &raw_, &bad_));
  }
  std::string Refusal() { return TextFormats().Make("libsvm", options_).status().message(); }

  TextFormatOptions options_;
  Batch raw_;
  std::vector<BadLine> bad_;
};

TEST_F(LibsvmTest, ALineIsALabelAndAWeightedBag) {
  Read("+1 3:0.5 18446744073709551615:2 7\r\n-1\n0  qid:4 1:-1e-2 \t2:1 # 9:9\n# all of it\n2 5:1");
  EXPECT_TRUE(bad_.empty());
  EXPECT_EQ(raw_.samples, 4u);
  EXPECT_THAT(raw_.labels, ElementsAre(1, 0, 0, 1));
  ASSERT_EQ(raw_.features.size(), 1u);
  EXPECT_THAT(raw_.features[0].offsets, ElementsAre(0, 3, 3, 5, 6));
  EXPECT_THAT(raw_.features[0].ids, ElementsAre(3u, UINT64_MAX, 7u, 1u, 2u, 5u));
  EXPECT_THAT(raw_.features[0].weights, ElementsAre(0.5f, 2, 1, -0.01f, 1, 1));
  EXPECT_EQ(raw_.dense_features, 0u);
}

TEST_F(LibsvmTest, TheSchemaIsKnownAndNamedAsTheModelsTable) {
  options_.table_names = {"words"};
  options_.table_rows = {100};
  const Schema schema = TextFormats().Make("libsvm", options_).value()->schema();
  EXPECT_EQ(schema.categorical[0].name, "words");
  EXPECT_EQ(schema.categorical[0].rows, 100u);
  EXPECT_EQ(schema.categorical[0].ids, "modulo");
}

TEST_F(LibsvmTest, ASchemaTakesIndicesAsDenseColumns) {
  options_.schema.format = "libsvm";
  options_.schema.label = {.column = "label"};
  options_.schema.dense = {{.name = "2"}, {.name = "1"}};
  options_.schema.categorical = {{.name = "rest", .token = "integer"}};
  Read("1 1:4 2:5 3:6\n0.5 2:7\n");
  EXPECT_THAT(raw_.labels, ElementsAre(1, 0.5f));
  EXPECT_EQ(raw_.dense[0], 5);
  EXPECT_EQ(raw_.dense[1], 4);
  EXPECT_EQ(raw_.dense[2], 7);
  EXPECT_TRUE(std::isnan(raw_.dense[3]));
  EXPECT_THAT(raw_.features[0].ids, ElementsAre(3u));
  options_.schema.dense[0].name = "two";
  EXPECT_THAT(Refusal(), HasSubstr("\"two\" of libsvm data is not an index"));
  options_.schema.categorical.resize(2);
  EXPECT_THAT(Refusal(), HasSubstr("2 categorical columns"));
}

TEST_F(LibsvmTest, ABadLineIsLeftOutWhole) {
  Read("1 3:1\nyes 3:1\n1 3:1 4:x\n\n1 a:1\n0 8:1\n");
  EXPECT_EQ(raw_.samples, 2u);
  EXPECT_THAT(raw_.features[0].ids, ElementsAre(3u, 8u));
  EXPECT_THAT(raw_.features[0].weights, ElementsAre(1, 1));
  EXPECT_THAT(raw_.labels, ElementsAre(1, 0));
  ASSERT_EQ(bad_.size(), 4u);
  EXPECT_THAT(bad_[0].message, HasSubstr("data.svm:2:1: the label is \"yes\", expected a number"));
  EXPECT_THAT(bad_[1].message,
              HasSubstr("data.svm:3:7: a feature is \"4:x\", expected INDEX:VALUE"));
  EXPECT_THAT(bad_[2].message, HasSubstr("data.svm:4:1: the line is empty"));
  EXPECT_THAT(bad_[3].message, HasSubstr("data.svm:5:3: a feature is \"a:1\""));
}

TEST_F(LibsvmTest, LabelsThatAreNotNeededMayBeMissing) {
  options_.needs_label = false;
  Read("3:1 4:2\n5:1\n");
  EXPECT_EQ(raw_.samples, 2u);
  EXPECT_TRUE(raw_.labels.empty());
  Read("1 3:1 4:2\n0 5:1\n");
  EXPECT_THAT(raw_.labels, ElementsAre(1, 0));
}

}  // namespace
}  // namespace rowhouse
