#include "launch/report/plot_axis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/status.h"

namespace rowhouse {
namespace {

constexpr double kMargin = 0.06;    // of the range, at either end
constexpr double kLargest = 1e300;  // differences of such numbers are finite still
constexpr double kSmallest = 1e-300;

constexpr std::array<const char*, 7> kBinaryUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
constexpr std::array<const char*, 7> kDecimalUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
constexpr std::array<const char*, 5> kThousands = {"", " k", " M", " G", " T"};

std::string WithMinusSign(std::string text) {
  const size_t dash = text.find('-');
  return dash == 0 ? "\xE2\x88\x92" + text.substr(1) : text;  // U+2212
}

// 2, 20 -> "2²⁰"
std::string PowerText(int base, int exponent) {
  constexpr std::array<const char*, 10> kRaised = {"⁰", "¹", "²", "³", "⁴",
                                                   "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = std::to_string(base);
  for (const char letter : std::to_string(exponent)) {
    text += letter == '-' ? "⁻" : kRaised[static_cast<size_t>(letter - '0')];
  }
  return text;
}

// 1, 2 or 5 times a power of ten: about a fifth of the range.
double NiceStep(double range) {
  const double raw = range / 5.0;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double digits = raw / power;
  return power * (digits < 1.5 ? 1.0 : digits < 3.5 ? 2.0 : digits < 7.5 ? 5.0 : 10.0);
}

// Where exponents of log ticks are printed as plain numbers.
bool IsPlain(PlotScale scale, int exponent) {
  return scale == PlotScale::kLog2 ? exponent >= 0 && exponent <= 13
                                   : exponent >= -3 && exponent <= 4;
}

std::string LogTickText(PlotScale scale, PlotUnit unit, int exponent, bool is_plain) {
  const int base = scale == PlotScale::kLog2 ? 2 : 10;
  if (unit == PlotUnit::kBytes) {
    const int a_unit = scale == PlotScale::kLog2 ? 10 : 3;
    const auto& names = scale == PlotScale::kLog2 ? kBinaryUnits : kDecimalUnits;
    if (exponent < 0 || exponent >= a_unit * static_cast<int>(names.size())) {
      return PowerText(base, exponent) + " B";
    }
    return fmt::format("{:.0f} {}", std::pow(base, exponent % a_unit),
                       names[static_cast<size_t>(exponent / a_unit)]);
  }
  if (!is_plain) return PowerText(base, exponent);
  return fmt::format("{:.{}f}", std::pow(base, exponent), std::max(0, -exponent));
}

}  // namespace

bool PlotAxis::CanShow(double value, PlotScale scale) {
  if (!std::isfinite(value) || std::fabs(value) > kLargest) return false;
  return scale == PlotScale::kLinear || value >= kSmallest;
}

PlotAxis::PlotAxis(std::span<const double> values, PlotScale scale, PlotUnit unit)
    : scale_(scale), unit_(unit) {
  for (const double value : values) CHECK(CanShow(value, scale)) << value << " on an axis";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  low_ = Transform(values.empty() ? 1.0 : *least);
  high_ = Transform(values.empty() ? 1.0 : *most);
  const double range = high_ - low_;
  if (scale != PlotScale::kLinear) {
    const double margin = range < 1e-6 ? 1.0 : range * kMargin;
    low_ -= margin;
    high_ += margin;
    AddLogTicks();
    return;
  }
  const double magnitude = std::max(std::fabs(low_), std::fabs(high_));
  const bool is_never_negative = low_ >= 0.0;
  double margin = range * kMargin;
  if (magnitude < kSmallest) {
    margin = 1.0;
  } else if (range <= 1e-6 * magnitude) {  // labels would need more digits than there is room for
    margin = 0.05 * magnitude;
  }
  low_ = is_never_negative && magnitude >= kSmallest ? std::max(0.0, low_ - margin) : low_ - margin;
  high_ += margin;
  AddLinearTicks();
}

double PlotAxis::Transform(double value) const {
  switch (scale_) {
    case PlotScale::kLinear:
      return value;
    case PlotScale::kLog2:
      return std::log2(value);
    case PlotScale::kLog10:
      return std::log10(value);
  }
  return value;
}

double PlotAxis::Position(double value) const { return (Transform(value) - low_) / (high_ - low_); }

void PlotAxis::AddLinearTicks() {
  // In bytes, steps are nice in the unit they are printed in.
  const double most = std::max(std::fabs(low_), std::fabs(high_));
  const bool is_bytes = unit_ == PlotUnit::kBytes;
  const double thousand = is_bytes ? 1024.0 : 1000.0;
  const size_t units = is_bytes ? kBinaryUnits.size() : kThousands.size();
  size_t unit = 0;
  double factor = 1.0;
  const bool is_beyond_units = !is_bytes && most >= 1e15;
  while (!is_beyond_units && unit + 1 < units &&
         most >= factor * thousand * (is_bytes || unit > 0 ? 1.0 : 10.0)) {
    factor *= thousand;
    ++unit;
  }
  const std::string suffix =
      is_bytes ? std::string(" ") + kBinaryUnits[unit] : std::string(kThousands[unit]);

  const double step = NiceStep((high_ - low_) / factor);
  const int places = -static_cast<int>(std::floor(std::log10(step) + 1e-9));
  const bool is_scientific = places > 6 || most / factor >= 1e6;
  // Digits after the point that tell neighbours apart, below the leading one of the largest.
  const int digits = std::max(0, static_cast<int>(std::floor(std::log10(most / factor))) + places);
  const double first = std::ceil(low_ / factor / step - 1e-9);
  const double last = std::floor(high_ / factor / step + 1e-9);
  for (double i = first; i <= last; i += 1.0) {
    const double value = i == 0.0 ? 0.0 : i * step;  // never -0
    const double position = (value * factor - low_) / (high_ - low_);
    const std::string number = is_scientific ? fmt::format("{:.{}e}", value, digits)
                                             : fmt::format("{:.{}f}", value, std::max(0, places));
    ticks_.push_back(
        {std::clamp(position, 0.0, 1.0), value == 0.0 ? "0" : WithMinusSign(number) + suffix});
  }
}

void PlotAxis::AddLogTicks() {
  if (std::floor(high_) - std::ceil(low_) < 1.0) {
    low_ = std::floor(low_);
    high_ = std::ceil(high_);
  }
  const int first = static_cast<int>(std::ceil(low_));
  const int last = static_cast<int>(std::floor(high_));
  constexpr int kMostSteps = 8;
  const int stride = (last - first + kMostSteps - 1) / kMostSteps;
  std::vector<int> exponents;
  for (int exponent = first; exponent <= last; ++exponent) {
    if (exponent % stride == 0) exponents.push_back(exponent);
  }
  const bool is_plain = std::all_of(exponents.begin(), exponents.end(),
                                    [&](int exponent) { return IsPlain(scale_, exponent); });
  for (const int exponent : exponents) {
    ticks_.push_back(
        {(exponent - low_) / (high_ - low_), LogTickText(scale_, unit_, exponent, is_plain)});
  }
}

}  // namespace rowhouse
