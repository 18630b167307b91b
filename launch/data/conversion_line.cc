#include "launch/data/conversion_line.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "launch/figures/figure_text.h"

namespace rowhouse {

double ConversionLine::PartDone(const ConversionProgress& progress) {
  if (progress.bytes == 0) return 0.0;
  const double of_pass =
      static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes);
  return std::min(1.0, (progress.pass - 1 + of_pass) / progress.passes);
}

void ConversionLine::Show(const ConversionProgress& progress) {
  const Clock::time_point now = Clock::now();
  const auto seconds_since = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  const double part = PartDone(progress);
  // A conversion that goes on passes quickly over what is done: its rate begins behind that.
  if (first_part_ < 0) {
    first_part_ = part;
    first_ = now;
    if (shown_.pass == 0) shown_ = progress;
  }
  if (seconds_since(last_) < (is_terminal_ ? 0.5 : 10.0)) return;
  const bool is_same_pass = shown_.pass == progress.pass;
  const uint64_t before = is_same_pass ? shown_.bytes_done : 0;
  const double rate =
      static_cast<double>(progress.bytes_done - std::min(progress.bytes_done, before)) /
      seconds_since(last_) / 1e6;
  std::string text =
      fmt::format("pass {} of {}  {} samples  {:.0f} MB/s", progress.pass, progress.passes,
                  CountText(static_cast<double>(progress.samples)), rate);
  if (progress.bad_lines > 0) text += fmt::format("  {} bad lines", progress.bad_lines);
  if (part > first_part_) {
    const double left = seconds_since(first_) * (1.0 - part) / (part - first_part_);
    text += fmt::format("  {} left", DurationText(left));
  }
  if (is_terminal_) {
    Clear();
    fmt::print("{} {:.0f} %  {}", BarText(part), 100.0 * part, text);
  } else {
    fmt::print("{:%H:%M:%S}  {:.0f} %  {}\n", fmt::localtime(std::time(nullptr)), 100.0 * part,
               text);
  }
  std::fflush(stdout);
  last_ = now;
  shown_ = progress;
}

void ConversionLine::Clear() const {
  if (is_terminal_) fmt::print("\r\033[K");
}

}  // namespace rowhouse
