// A format for tests of conversions: "label;age;price;user;tags", as "1;30;;anna;a:2|b:1".
// Empty fields are missing; a line of another form is bad.
#pragma once

#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "worker/data/mapping/token_key.h"
#include "worker/data/text/text_format.h"

namespace rowhouse {

inline Schema SimpleSchema() {
  Schema schema;
  schema.format = "simple";
  schema.dense = {{"age", "standardise", 20.0f}, {"price", "log1p"}};
  schema.categorical = {{.name = "user", .ids = "dictionary", .rows = 1000, .missing_row = true},
                        {.name = "tags",
                         .ids = "dictionary",
                         .rows = 1000,
                         .min_count = 2,
                         .rare_row = true,
                         .separator = "|",
                         .weight_separator = ":"},
                        {.name = "hashed", .ids = "hash", .rows = 50}};
  return schema;
}

class SimpleFormat final : public TextFormat {
 public:
  explicit SimpleFormat(Schema schema = SimpleSchema()) : schema_(std::move(schema)) {}
  const Schema& schema() const override { return schema_; }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    raw->Clear(2, 3);
    std::istringstream lines(chunk.bytes);
    std::string line;
    for (uint64_t number = chunk.first_line; std::getline(lines, line); ++number) {
      std::vector<std::string> fields = Split(line, ';');
      if (fields.size() != 5) {
        bad->push_back(
            {number, fmt::format("{}:{}:1: {} fields", chunk.file_name, number, fields.size())});
        continue;
      }
      ++raw->samples;
      raw->labels.push_back(std::strtof(fields[0].c_str(), nullptr));
      for (int i : {1, 2}) {
        raw->dense.push_back(fields[i].empty() ? std::numeric_limits<float>::quiet_NaN()
                                               : std::strtof(fields[i].c_str(), nullptr));
      }
      if (!fields[3].empty())
        raw->features[0].ids.push_back(*TokenKey(TokenType::kString, fields[3]));
      raw->features[0].EndBag();
      for (const std::string& tag : Split(fields[4], '|')) {
        if (tag.empty()) continue;
        const std::vector<std::string> parts = Split(tag, ':');
        raw->features[1].ids.push_back(*TokenKey(TokenType::kString, parts[0]));
        raw->features[1].weights.push_back(std::strtof(parts[1].c_str(), nullptr));
      }
      raw->features[1].EndBag();
      raw->features[2].ids.push_back(*TokenKey(TokenType::kString, fields[3]));
      raw->features[2].EndBag();
    }
    return OkStatus();
  }

 private:
  static std::vector<std::string> Split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (char c : text) {
      if (c == separator) {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    return parts;
  }

  Schema schema_;
};

// `lines` lines of which `bad` in the middle are bad.
inline std::string SimpleText(size_t lines, uint64_t seed, size_t bad = 0) {
  std::string text;
  uint64_t state = seed * 2 + 1;
  const auto random = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  for (size_t i = 0; i < lines; ++i) {
    if (i >= lines / 2 && i < lines / 2 + bad) text += "no sample\n";
    text += fmt::format("{};", random(2));
    text += random(5) == 0 ? ";" : fmt::format("{};", static_cast<double>(random(900)) / 10.0);
    text += random(5) == 0 ? ";" : fmt::format("{};", random(100));
    if (random(7) != 0) text += fmt::format("u{}", random(10) < 5 ? random(20) : random(600));
    text += ";";
    const uint64_t tags = random(4);
    for (uint64_t tag = 0; tag < tags; ++tag) {
      text += fmt::format("{}t{}:{}", tag > 0 ? "|" : "", random(300), random(5) + 1);
    }
    text += "\n";
  }
  return text;
}

}  // namespace rowhouse
