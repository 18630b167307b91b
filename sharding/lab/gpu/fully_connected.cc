#include "sharding/lab/gpu/fully_connected.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "common/read_value.h"

namespace rowhouse {
namespace {

using Measured = MeasuredProducts::Measured;
using Lines = std::vector<const Measured*>;

struct Rates {
  double gflops = 0, gbs = 0;

  void Add(const Rates& other, double weight) {
    gflops += weight * other.gflops;
    gbs += weight * other.gbs;
  }
};

Rates RatesOf(const GpuProduct& product, double us) {
  return {product.multiply_adds() / us / 1000, product.bytes() / us / 1000};
}

double UsAt(const Rates& rates, const GpuProduct& product) {
  return std::max(product.multiply_adds() / rates.gflops, product.bytes() / rates.gbs) / 1000;
}

constexpr std::array<uint64_t GpuProduct::*, 4> kSizes = {&GpuProduct::batch, &GpuProduct::m,
                                                          &GpuProduct::n, &GpuProduct::k};

Lines LinesAt(const Lines& lines, uint64_t GpuProduct::*size, uint64_t value) {
  Lines there;
  std::ranges::copy_if(lines, std::back_inserter(there),
                       [&](const Measured* line) { return line->product.*size == value; });
  return there;
}

// The sizes that the lines have next to `asked`; none: there is none on that side.
struct Neighbours {
  std::optional<uint64_t> low, high;  // low <= asked < high
};

Neighbours NeighboursOf(const Lines& lines, uint64_t GpuProduct::*size, uint64_t asked) {
  Neighbours near;
  for (const Measured* line : lines) {
    const uint64_t value = line->product.*size;
    if (value <= asked) near.low = std::max(near.low.value_or(value), value);
    if (value > asked) near.high = std::min(near.high.value_or(value), value);
  }
  return near;
}

// The notebook's `fc_forward_predictor`. A size that occurs in the table keeps the lines that have
// it; each other size splits every set of lines at that set's own neighbours of it, and of a set
// its first line counts.
class OriginalProducts {
 public:
  OriginalProducts(const GpuModel& gpu, const GpuProduct& asked, bool nearer_weighs_more)
      : peaks_{gpu.gflops, gpu.dram_gbs}, asked_(asked), nearer_weighs_more_(nearer_weighs_more) {}

  // None: no line has all sizes that occur, where the notebook fails.
  std::optional<double> Us(const Lines& table) {
    Lines lines = table;
    for (uint64_t GpuProduct::*const size : kSizes) {
      if (LinesAt(table, size, asked_.*size).empty()) {
        unmatched_.push_back(size);
      } else {
        lines = LinesAt(lines, size, asked_.*size);
      }
    }
    if (lines.empty()) return std::nullopt;
    if (unmatched_.empty()) return lines.front()->us;
    AddSets(lines, 0, {});
    const double half_the_sets = std::ldexp(1.0, static_cast<int>(unmatched_.size()) - 1);
    Rates mean;
    mean.Add(sum_, 1 / half_the_sets);
    return UsAt(mean, asked_);
  }

 private:
  // Of the sides that a set lies on.
  struct Sides {
    double own = 0, high = 0;  // sums of the ratios of these sides; of all "more" sides
    bool is_zero = false, is_infinite = false;
  };

  void AddSets(const Lines& lines, size_t depth, Sides sides) {
    if (depth == unmatched_.size()) return AddSet(*lines.front(), sides);
    uint64_t GpuProduct::*const size = unmatched_[depth];
    const auto [low, high] = NeighboursOf(lines, size, asked_.*size);
    const auto at = static_cast<double>(asked_.*size);
    const double from = low ? static_cast<double>(*low) : 0;
    const double to = high ? static_cast<double>(*high) : 0;
    double less = 0.5, more = 0.5;  // ratios, above the range
    if (high) {
      less = (at - from) / (to - from);
      more = (to - at) / (to - from);
      if (low && nearer_weighs_more_) std::swap(less, more);
    }
    Sides below = sides, above = sides;
    below.own += less;
    above.own += more;
    below.high += more;
    above.high += more;
    below.is_zero |= !low;
    above.is_infinite |= !high;
    AddSets(LinesAt(lines, size, low ? *low : *high), depth + 1, below);
    AddSets(LinesAt(lines, size, high ? *high : *low), depth + 1, above);
  }

  // Nothing is achieved at a size of zero, the peaks at an infinite one.
  void AddSet(const Measured& line, const Sides& sides) {
    if (sides.is_zero) return;
    const double share = 1 / static_cast<double>(unmatched_.size());
    if (sides.is_infinite) return sum_.Add(peaks_, share * sides.high);
    sum_.Add(RatesOf(line.product, line.us), share * sides.own);
  }

  const Rates peaks_;
  const GpuProduct asked_;
  const bool nearer_weighs_more_;
  std::vector<uint64_t GpuProduct::*> unmatched_;
  Rates sum_;
};

// What lines achieve for a product, each size between their own neighbours of it, linearly: so the
// prediction is continuous, and at a measured product it is the mean of its times. Above the
// largest size the rates are those of the largest. Below the smallest the time is that of the
// smallest: `least` is the product with the sizes that stand for those asked for.
Rates Interpolated(const Lines& lines, const GpuProduct& asked, GpuProduct least, size_t depth) {
  if (depth == kSizes.size()) {
    double us = 0;
    for (const Measured* line : lines) us += line->us / static_cast<double>(lines.size());
    const Rates rates = RatesOf(lines.front()->product, us);
    return {rates.gflops * asked.multiply_adds() / least.multiply_adds(),
            rates.gbs * asked.bytes() / least.bytes()};
  }
  uint64_t GpuProduct::*const size = kSizes[depth];
  const auto [low, high] = NeighboursOf(lines, size, asked.*size);
  if (!low) least.*size = *high;
  const Rates at_low =
      Interpolated(LinesAt(lines, size, low ? *low : *high), asked, least, depth + 1);
  if (!low || !high || *low == asked.*size) return at_low;
  const double more = static_cast<double>(asked.*size - *low) / static_cast<double>(*high - *low);
  Rates rates;
  rates.Add(at_low, 1 - more);
  rates.Add(Interpolated(LinesAt(lines, size, *high), asked, least, depth + 1), more);
  return rates;
}

// Fields of a line; a field in double quotes may hold commas.
std::vector<std::string> FieldsOf(std::string_view line) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

constexpr std::array<std::string_view, 6> kColumns = {"batch_size",    "M", "N", "K", "kernel_name",
                                                      "kernel_runtime"};

// Where each of kColumns stands.
using Columns = std::array<size_t, 6>;

Result<Columns> ColumnsOf(std::string_view head, const std::string& place) {
  const std::vector<std::string> names = FieldsOf(head);
  Columns columns{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::find(names.begin(), names.end(), kColumns[i]);
    if (found == names.end()) {
      return UsageError(
          "{}: no column {}; the first line names the columns batch_size, M, N, K, kernel_name, "
          "kernel_runtime",
          place, kColumns[i]);
    }
    columns[i] = static_cast<size_t>(found - names.begin());
  }
  return columns;
}

struct Line {
  GpuProduct product;
  std::string kernel;
  double us = 0;
};

Result<Line> LineOf(std::string_view text, const Columns& columns, const std::string& place) {
  const std::vector<std::string> fields = FieldsOf(text);
  const auto field = [&](size_t i) {
    return columns[i] < fields.size() ? fields[columns[i]] : std::string();
  };
  Line line;
  const std::array<uint64_t*, 4> sizes = {&line.product.batch, &line.product.m, &line.product.n,
                                          &line.product.k};
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto value = ReadWhole(field(i));
    if (!value || *value == 0) {
      return UsageError("{}: {} is \"{}\", expected a whole number of 1 or more", place,
                        kColumns[i], field(i));
    }
    *sizes[i] = *value;
  }
  line.kernel = field(4);
  const auto us = ReadReal(field(5));
  if (!us || !(*us > 0)) {
    return UsageError("{}: kernel_runtime is \"{}\", expected microseconds above 0", place,
                      field(5));
  }
  line.us = *us;
  return line;
}

}  // namespace

double GpuProduct::multiply_adds() const {
  return static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
         static_cast<double>(k);
}

double GpuProduct::bytes() const {
  const auto [rows, columns, inner] =
      std::array{static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)};
  return 4 * static_cast<double>(batch) * (rows * inner + inner * columns + rows * columns);
}

double RooflineUs(const GpuModel& gpu, const GpuProduct& product) {
  return std::max(product.multiply_adds() / gpu.gflops, product.bytes() / gpu.dram_gbs) / 1000;
}

Result<MeasuredProducts> MeasuredProducts::Make(const std::vector<Measured>& measured) {
  if (measured.empty()) return UsageError("no matrix product was measured");
  for (const Measured& one : measured) {
    const auto& [batch, m, n, k] = one.product;
    if (!(one.us > 0) || !std::isfinite(one.us) || std::min({batch, m, n, k}) == 0) {
      return UsageError("the product {} x {} x {} x {} has a time of {} us", batch, m, n, k,
                        one.us);
    }
  }
  MeasuredProducts table;
  table.lines_ = measured;
  return table;
}

Result<MeasuredProducts> MeasuredProducts::FromCsv(std::string_view csv, const std::string& name,
                                                   const std::string& kernel_prefix) {
  std::vector<Measured> measured;
  std::optional<Columns> columns;
  size_t number = 0, others = 0;
  while (!csv.empty()) {
    const size_t end = std::min(csv.find('\n'), csv.size());
    const std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    const std::string place = fmt::format("{}:{}", name, ++number);
    if (line.empty() || line == "\r") continue;
    if (!columns) {
      ASSIGN_OR_RETURN(columns, ColumnsOf(line, place));
      continue;
    }
    ASSIGN_OR_RETURN(const Line read, LineOf(line, *columns, place));
    if (!read.kernel.starts_with(kernel_prefix)) {
      ++others;
      continue;
    }
    measured.push_back({.product = read.product, .us = read.us});
  }
  if (!columns) return UsageError("{}: empty; expected a CSV of measured matrix products", name);
  if (measured.empty()) {
    return UsageError(
        "{}: no kernel_name begins with \"{}\" ({} lines have others); give another prefix", name,
        kernel_prefix, others);
  }
  return Make(measured);
}

double MeasuredProducts::PredictUs(const GpuModel& gpu, const GpuProduct& product,
                                   GpuForm form) const {
  Lines lines;
  for (const Measured& line : lines_) lines.push_back(&line);
  if (form == GpuForm::kCorrected) return UsAt(Interpolated(lines, product, product, 0), product);
  OriginalProducts original(gpu, product, /*nearer_weighs_more=*/form == GpuForm::kListed);
  return original.Us(lines).value_or(RooflineUs(gpu, product));
}

}  // namespace rowhouse
