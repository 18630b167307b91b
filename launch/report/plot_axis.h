// PlotAxis: which range of numbers an axis shows, where on it a number lies, and its ticks.
//
// The range is that of the values and 6% more at either end (never below 0 for what is never
// negative); values that are all (nearly) equal get room around them. Ticks are 1, 2 or 5 times a
// power of ten apart; on logarithmic axes they are powers of the base, at least two.
// Threads: constant after construction.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace rowhouse {

enum class PlotScale { kLinear, kLog2, kLog10 };
enum class PlotUnit {
  kNone,
  kBytes,  // KiB, MiB, ...; kB, MB, ... with kLog10
};

class PlotAxis {
 public:
  struct Tick {
    double position = 0.0;  // in [0, 1]
    std::string label;
  };

  // Finite and at most 1e300; on logarithmic axes at least 1e-300 too.
  static bool CanShow(double value, PlotScale scale);

  // Requires CanShow of every value; of none, the axis is that of the value 1.
  PlotAxis(std::span<const double> values, PlotScale scale, PlotUnit unit);

  // In [0, 1] for the values it was made of.
  double Position(double value) const;

  // From the low end to the high one.
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double Transform(double value) const;
  void AddLinearTicks();
  void AddLogTicks();

  PlotScale scale_;
  PlotUnit unit_;
  double low_ = 1.0;  // transformed
  double high_ = 1.0;
  std::vector<Tick> ticks_;
};

}  // namespace rowhouse
