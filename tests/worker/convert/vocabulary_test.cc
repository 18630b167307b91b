#include "worker/data/mapping/vocabulary.h"

#include <algorithm>
#include <fstream>

#include "common/durable_file.h"
#include "common/random.h"
#include "tests/testing/testing.h"

namespace rowhouse {
namespace {

uint64_t NumberOf(const Vocabulary& vocabulary, uint64_t key) {
  uint64_t number = 0;
  vocabulary.FindAll({&key, 1}, {&number, 1});
  return number;
}

// Number i for key keys[i].
void WriteKeys(const std::string& path, const std::vector<uint64_t>& keys) {
  std::vector<uint64_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](uint64_t a, uint64_t b) { return Mix64(keys[a]) < Mix64(keys[b]); });
  auto writer = VocabularyWriter::Open(path, keys.size());
  ASSERT_OK(writer);
  for (uint64_t i : order) ASSERT_OK(writer.value()->Add(keys[i], i));
  ASSERT_OK(writer.value()->Finish());
}

TEST(Vocabulary, FindsEveryKeyAndNoOther) {
  TempDir directory;
  for (const size_t count : {0, 1, 2, 3, 4, 5, 7, 8, 100, 10000}) {
    std::vector<uint64_t> keys;
    for (size_t i = 0; i < count; ++i) keys.push_back(i * 3);  // Small numbers, as of `integer`
    const std::string path = directory / std::to_string(count);
    WriteKeys(path, keys);
    const auto vocabulary = Vocabulary::Open(path);
    ASSERT_OK(vocabulary);
    EXPECT_EQ(vocabulary.value()->size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(NumberOf(*vocabulary.value(), i * 3), i);
      EXPECT_EQ(NumberOf(*vocabulary.value(), i * 3 + 1), Vocabulary::kNone);
    }
    EXPECT_EQ(NumberOf(*vocabulary.value(), UINT64_MAX), Vocabulary::kNone);
  }
}

TEST(Vocabulary, FindsManyKeysAsItFindsEach) {
  TempDir directory;
  std::vector<uint64_t> keys, wanted, expected;
  for (uint64_t i = 0; i < 1000; ++i) keys.push_back(i * i);
  WriteKeys(directory / "v", keys);
  const auto vocabulary = Vocabulary::Open(directory / "v");
  ASSERT_OK(vocabulary);
  for (uint64_t i = 0; i < 3001; ++i) {
    wanted.push_back(i % 3 == 0 ? keys[i * 7 % 1000] : i);
    expected.push_back(NumberOf(*vocabulary.value(), wanted.back()));
  }
  std::vector<uint64_t> numbers(wanted.size());
  vocabulary.value()->FindAll(wanted, numbers);
  EXPECT_EQ(numbers, expected);
  vocabulary.value()->FindInOrder(wanted, wanted);
  EXPECT_EQ(wanted, expected);
}

TEST(Vocabulary, AnyFlippedByteAndAnyShorterFileIsRefused) {
  TempDir directory;
  const std::string path = directory / "v";
  WriteKeys(path, {5, 0, UINT64_MAX, 77, 1u << 31});
  const std::string bytes = ReadFile(path).value();
  const auto open = [&](const std::string& changed) {
    std::ofstream(path, std::ios::binary) << changed;
    return Vocabulary::Open(path).status().ok();
  };
  ASSERT_TRUE(open(bytes));
  for (size_t at = 0; at < bytes.size(); at += 3) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 4);
    EXPECT_FALSE(open(changed)) << at;
    EXPECT_FALSE(open(bytes.substr(0, at))) << at;
  }
}

TEST(Vocabulary, OneThatIsNotThereIsNotFound) {
  EXPECT_EQ(Vocabulary::Open("/nonexistent/v").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace rowhouse
