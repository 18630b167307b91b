#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/testing/testing.h"
#include "worker/data/dataset.h"
#include "worker/data/mapping/preprocessing.h"
#include "worker/data/mapping/token_key.h"
#include "worker/data/text/text_chunks.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Made-up users, movies and ratings, in each form that GroupLens and RecBole give.
class MovieLensTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(dir_ / name, std::ios::binary) << text;
  }
  void Read(const std::string& file) {
    options_.files = {dir_ / file};
    const auto format = TextFormats().Make("movielens", options_);
    ASSERT_OK(format);
    schema_ = format.value()->schema();
    TextChunks chunks = TextChunks::Open(options_.files, {}).value();
    TextChunk chunk;
    ASSERT_TRUE(chunks.Next(&chunk).value());
    ASSERT_OK(format.value()->Parse(chunk, &raw_, &bad_));
    ASSERT_TRUE(bad_.empty()) << bad_[0].message;
  }
  // The value of sample s in the dense column `name`.
  float Dense(size_t s, const std::string& name) const {
    for (size_t k = 0; k < schema_.dense.size(); ++k) {
      if (schema_.dense[k].name == name) return raw_.dense[s * schema_.dense.size() + k];
    }
    ADD_FAILURE() << name;
    return 0;
  }
  // What all forms below say: user 2 (a man of 40) rated movie 3 (a comedy of 1999) with 5, user 1
  // (a woman of 24) rated movie 1 (a drama and comedy of 1987) with 3.
  void ExpectTheTwoRatings() {
    ASSERT_EQ(raw_.samples, 2u);
    EXPECT_THAT(raw_.labels, ElementsAre(1, 0));
    EXPECT_THAT(raw_.features[0].ids, ElementsAre(2, 1));
    EXPECT_THAT(raw_.features[1].ids, ElementsAre(3, 1));
    EXPECT_THAT(raw_.features[2].ids, ElementsAre(1 * 3 + 2, 0));
    EXPECT_EQ(Dense(0, "release_year"), 1999);
    EXPECT_EQ(Dense(1, "release_year"), 1987);
    EXPECT_EQ(Dense(0, "is_Comedy"), 1);
    EXPECT_EQ(Dense(0, "is_Drama"), 0);
    EXPECT_EQ(Dense(1, "is_Drama"), 1);
    EXPECT_EQ(Dense(1, "timestamp"), 800);
  }
  void ExpectTheTwoUsers() {
    EXPECT_EQ(schema_.dense.size(), 16u);
    EXPECT_EQ(schema_.dense[0].transform, "standardise");
    EXPECT_EQ(Dense(0, "age"), 40);
    EXPECT_EQ(Dense(1, "age"), 24);
    EXPECT_EQ(Dense(0, "is_male"), 1);
    EXPECT_EQ(Dense(1, "is_male"), 0);
  }

  TempDir dir_;
  TextFormatOptions options_;
  Schema schema_;
  Batch raw_;
  std::vector<BadLine> bad_;
};

TEST_F(MovieLensTest, FilesOf100K) {
  Write("u.user", "1|24|F|artist|12345\n2|40|M|none|00000\n");
  const std::string no_flags = "|0|0|0|0|0|0|0|0|0|0|0|0|0";
  Write("u.item", "1|One (Uno) (1987)|01-Jan-1987||http://one|0|0|0|0|0|1|0|0|1|0" +
                      no_flags.substr(0, 18) + "\n3|Three|02-Feb-1999|||0|0|0|0|0|1|0|0|0|0" +
                      no_flags.substr(0, 18) + "\n");
  Write("u1.base", "2\t3\t5\t900\n1\t1\t3\t800\n");
  Read("u1.base");
  ExpectTheTwoRatings();
  ExpectTheTwoUsers();
}

TEST_F(MovieLensTest, FilesOf1M) {
  Write("users.dat", "1::F::24::7::12345\n2::M::40::0::00000\n");
  Write("movies.dat", "1::One: a start (1987)::Drama|Comedy\n3::Three (1999)::Comedy\n");
  Write("ratings.dat", "2::3::5::900\n1::1::3::800\n");
  Read("ratings.dat");
  ExpectTheTwoRatings();
  ExpectTheTwoUsers();
}

TEST_F(MovieLensTest, FilesOf20MHaveNoUsers) {
  Write("movies.csv",
        "movieId,title,genres\n1,\"One, first (1987)\",Drama|Comedy\n3,Three (1999),Comedy\n");
  Write("ratings.csv", "userId,movieId,rating,timestamp\n2,3,4.5,900\n1,1,3.0,800\n");
  Read("ratings.csv");
  ExpectTheTwoRatings();
  EXPECT_EQ(schema_.dense.size(), 14u);
}

TEST_F(MovieLensTest, FilesOfRecBole) {
  Write("ml.user",
        "user_id:token\tage:token\tgender:token\toccupation:token\tzip_code:token\n"
        "1\t24\tF\tartist\t12345\n2\t40\tM\tnone\t0\n");
  Write("ml.item",
        "item_id:token\tmovie_title:token_seq\trelease_year:token\tclass:token_seq\n"
        "1\tOne\t1987\tDrama Comedy\n3\tThree\t1999\tComedy\n");
  Write(
      "ml.inter",
      "item_id:token\tuser_id:token\trating:float\ttimestamp:float\n3\t2\t5\t900\n1\t1\t3\t800\n");
  Read("ml.inter");
  ExpectTheTwoRatings();
  ExpectTheTwoUsers();
}

TEST_F(MovieLensTest, AFileOfFeaturesThatIsGoneIsNamed) {
  Write("ratings.dat", "1::1::3::800\n");
  options_.files = {dir_ / "ratings.dat"};
  options_.schema.format = "movielens";
  options_.schema.label = {.column = "rating", .compare = ">=", .value = "3"};
  options_.schema.categorical = {{.name = "user"}, {.name = "occupation"}};
  const auto refusal = [&] { return TextFormats().Make("movielens", options_).status().message(); };
  EXPECT_THAT(refusal(), HasSubstr("uses column \"occupation\", which the file of users has"));
  Write("users.dat", "1::F::24::7::12345\n");
  EXPECT_EQ(refusal(), "");
  options_.schema.dense = {{.name = "release_year"}};
  EXPECT_THAT(refusal(), HasSubstr("uses column \"release_year\", which the file of movies has"));
}

TEST_F(MovieLensTest, ASchemaMayUseAnyColumn) {
  Write("users.dat", "1::F::24::7::12345\n");
  Write("movies.dat", "1::One (1987)::Drama|Children's\n");
  Write("ratings.dat", "1::1::3::800\n9::9::3::800\n");
  options_.schema.format = "movielens";
  options_.schema.label = {.column = "rating", .compare = ">=", .value = "3"};
  options_.schema.categorical = {{.name = "genres", .separator = "|"}, {.name = "occupation"}};
  Read("ratings.dat");
  EXPECT_THAT(raw_.labels, ElementsAre(1, 1));
  const auto key = [](std::string_view token) { return *TokenKey(TokenType::kString, token); };
  EXPECT_THAT(raw_.features[0].ids, ElementsAre(key("Drama"), key("Children's")));
  EXPECT_THAT(raw_.features[0].offsets, ElementsAre(0, 2, 2));
  EXPECT_THAT(raw_.features[1].ids, ElementsAre(key("7")));
  options_.schema.categorical[0].name = "genre";
  EXPECT_THAT(TextFormats().Make("movielens", options_).status().message(),
              HasSubstr("no column \"genre\", which section schema names. Did you mean"));
}

TEST_F(MovieLensTest, ColumnsGoByTheNamesOfTheModelsTables) {
  Write("ratings.csv", "userId,movieId,rating,timestamp\n2,3,4.5,900\n");
  Write("movies.csv", "movieId,title,genres\n3,Three (1999),(no genres listed)\n");
  options_.table_names = {"a", "b", "c"};
  options_.table_rows = {10, 20, 30};
  Read("ratings.csv");
  EXPECT_EQ(schema_.categorical[2].name, "c");
  EXPECT_EQ(schema_.categorical[2].rows, 30u);
  EXPECT_EQ(schema_.categorical[2].ids, "modulo");
  options_ = {.schema = schema_};  // as it is saved with a model
  Read("ratings.csv");
  EXPECT_THAT(raw_.features[1].ids, ElementsAre(3u));
}

// The ids of user_item count the movies of the data that a model was trained on.
TEST_F(MovieLensTest, MoviesThatCameLaterMoveNoIds) {
  Write("movies.dat", "1::One (1987)::Drama\n3::Three (1999)::Comedy\n");
  Write("ratings.dat", "2::3::5::900\n1::1::3::800\n");
  DatasetOptions data{.file = dir_ / "ratings.dat"};
  data.text.schema = {.format = "movielens", .label = {.column = "rating", .compare = ">="}};
  data.text.schema.label.value = "4";
  data.text.schema.categorical = {{.name = "user_item", .token = "integer", .ids = "modulo"}};
  data.text.schema.categorical[0].rows = 100;
  const auto ids = [&]() -> std::vector<uint64_t> {
    const auto format = MakeTextFormat("movielens", data, {data.file});
    EXPECT_OK(format);
    TextChunks chunks = TextChunks::Open({data.file}, {}).value();
    TextChunk chunk;
    EXPECT_TRUE(chunks.Next(&chunk).value());
    EXPECT_OK(format.value()->Parse(chunk, &raw_, &bad_));
    schema_ = format.value()->schema();
    return raw_.features[0].ids;
  };
  EXPECT_THAT(ids(), ElementsAre(1 * 3 + 2, 0));
  ASSERT_OK(WritePreprocessing(dir_.path(), schema_, {}));
  data.text.preprocessing = Preprocessing::Open(dir_.path()).value();
  Write("movies.dat", "1::One (1987)::Drama\n3::Three (1999)::Comedy\n9::Nine (2020)::Drama\n");
  EXPECT_THAT(ids(), ElementsAre(1 * 3 + 2, 0));
  std::filesystem::remove(dir_ / "movies.dat");
  EXPECT_THAT(ids(), ElementsAre(1 * 3 + 2, 0));
  data.text.preprocessing = nullptr;
  EXPECT_THAT(MakeTextFormat("movielens", data, {data.file}).status().message(),
              HasSubstr("uses column \"user_item\", which the file of movies has"));
}

TEST_F(MovieLensTest, RatingsToPredictNeedNone) {
  Write("pairs.inter", "user_id:token\titem_id:token\n2\t3\n");
  options_.needs_label = false;
  Read("pairs.inter");
  EXPECT_TRUE(raw_.labels.empty());
  EXPECT_EQ(raw_.samples, 1u);
}

TEST_F(MovieLensTest, WhatIsWrongIsNamed) {
  Write("ratings.dat", "1::1::3::800\n1::x::3::800\n1::1::3\n\n1::1::five::8\n");
  options_.files = {dir_ / "ratings.dat"};
  const auto format = TextFormats().Make("movielens", options_).value();
  TextChunks chunks = TextChunks::Open(options_.files, {}).value();
  TextChunk chunk;
  ASSERT_TRUE(chunks.Next(&chunk).value());
  ASSERT_OK(format->Parse(chunk, &raw_, &bad_));
  EXPECT_EQ(raw_.samples, 1u);
  ASSERT_EQ(bad_.size(), 4u);
  EXPECT_THAT(bad_[0].message, HasSubstr("ratings.dat:2:4: item is \"x\", expected an integer"));
  EXPECT_THAT(bad_[1].message,
              HasSubstr("ratings.dat:3:8: the line has 5 fields, the first line 7"));
  EXPECT_THAT(bad_[2].message, HasSubstr("ratings.dat:4:1: the line is empty"));
  EXPECT_THAT(bad_[3].message, HasSubstr("ratings.dat:5:7: rating is \"five\""));

  Write("users.dat", "1::F::24\n");
  EXPECT_THAT(TextFormats().Make("movielens", options_).status().message(),
              HasSubstr("users.dat:1: the line has 3 fields, expected 5"));
  Write("users.dat", "1::F::24::7::1\n1::F::24::7::1\n");
  EXPECT_THAT(TextFormats().Make("movielens", options_).status().message(),
              HasSubstr("users.dat:2: id \"1\" is there twice"));
  options_.files = {"-"};
  EXPECT_THAT(TextFormats().Make("movielens", options_).status().message(),
              HasSubstr("not from standard input"));
}

}  // namespace
}  // namespace rowhouse
