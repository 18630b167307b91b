#include "worker/data/mapping/name_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace rowhouse {
namespace {

constexpr std::array<std::string_view, 23> kIdWords = {
    "id",  "ids",  "user",     "item",     "product",  "ad",     "movie",    "customer",
    "sku", "code", "zip",      "zipcode",  "postcode", "uid",    "session",  "advertiser",
    "url", "site", "campaign", "category", "brand",    "device", "publisher"};
constexpr std::array<std::string_view, 4> kWeights = {"weight", "weights", "importance",
                                                      "sample_weight"};
constexpr std::array<std::string_view, 10> kYes = {"1",     "yes",     "true",     "t",   "y",
                                                   "click", "clicked", "positive", "pos", "buy"};

template <size_t N>
bool IsAmong(std::string_view word, const std::array<std::string_view, N>& known) {
  return std::ranges::count(known, word) > 0;
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::vector<std::string> WordsOf(std::string_view name) {
  std::vector<std::string> words(1);
  bool was_lower = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool begins = std::isupper(letter) != 0 && was_lower;
    if (std::isalnum(letter) == 0 || begins) words.emplace_back();
    if (std::isalnum(letter) != 0) words.back() += static_cast<char>(std::tolower(letter));
    was_lower = std::islower(letter) != 0;
  }
  std::erase(words, "");
  return words;
}

bool MeansId(std::string_view name) {
  return std::ranges::any_of(WordsOf(name),
                             [](const std::string& word) { return IsAmong(word, kIdWords); });
}

bool MeansWeight(std::string_view name) { return IsAmong(LowerCase(name), kWeights); }

const std::vector<std::string>& LabelNames() {
  static const std::vector<std::string> names = {
      "label",  "click",    "clicked", "target",    "y",        "converted", "conversion",
      "rating", "ratings",  "bought",  "purchased", "purchase", "liked",     "like",
      "score",  "response", "outcome", "stars",     "class"};
  return names;
}

bool MeansYes(std::string_view text) { return IsAmong(LowerCase(text), kYes); }

}  // namespace rowhouse
