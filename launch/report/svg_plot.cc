#include "launch/report/svg_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "launch/report/figure_text.h"
#include "launch/report/markup_text.h"

namespace rowhouse {
namespace {

constexpr double kWidth = 720.0;
constexpr double kHeight = 420.0;
constexpr double kEdge = 20.0;  // of the picture, left empty
constexpr double kFont = 12.0;  // of all text but the title
constexpr double kTitleFont = 15.0;
constexpr double kLegendRow = 20.0;
constexpr size_t kMostLegendRows = 3;
constexpr double kMarkRadius = 5.0;

constexpr const char* kStyle =
    ".rw text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#1f2328}"
    ".rw .title{font-size:15px;font-weight:600}"
    ".rw .soft{fill:#59636e}"
    ".rw .end{text-anchor:end}"
    ".rw .middle{text-anchor:middle}"
    ".rw .halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    ".rw .paper{fill:#fff}"
    ".rw .grid{stroke:#e6e9ed;stroke-width:1}"
    ".rw .axis{stroke:#9aa3ad;stroke-width:1}"
    ".rw .reference{stroke:#59636e;stroke-width:1.25;stroke-dasharray:6 4}"
    ".rw .mark{stroke:#fff;stroke-width:1}"
    ".rw .line{fill:none;stroke-width:1.75;stroke-linejoin:round}"
    ".rw .f0{fill:#0072b2}.rw .f1{fill:#d55e00}.rw .f2{fill:#009e73}"
    ".rw .f3{fill:#cc79a7}.rw .f4{fill:#c98500}.rw .f5{fill:#1f2328}"
    ".rw .s0{stroke:#0072b2}.rw .s1{stroke:#d55e00}.rw .s2{stroke:#009e73}"
    ".rw .s3{stroke:#cc79a7}.rw .s4{stroke:#c98500}.rw .s5{stroke:#1f2328}"
    "@media(prefers-color-scheme:dark){"
    ".rw text{fill:#e6e8eb}"
    ".rw .soft{fill:#a0a8b2}"
    ".rw .halo{stroke:#15181c}"
    ".rw .paper{fill:#15181c}"
    ".rw .grid{stroke:#2b3036}"
    ".rw .axis{stroke:#68717b}"
    ".rw .reference{stroke:#a0a8b2}"
    ".rw .mark{stroke:#15181c}"
    ".rw .f0{fill:#56b4e9}.rw .f1{fill:#f0834a}.rw .f2{fill:#2fc39a}"
    ".rw .f3{fill:#dd9cc0}.rw .f4{fill:#e8b04a}.rw .f5{fill:#e6e8eb}"
    ".rw .s0{stroke:#56b4e9}.rw .s1{stroke:#f0834a}.rw .s2{stroke:#2fc39a}"
    ".rw .s3{stroke:#dd9cc0}.rw .s4{stroke:#e8b04a}.rw .s5{stroke:#e6e8eb}"
    "}";

// Around (0, 0): disc, square, triangle, diamond, triangle on its point, cross.
constexpr std::array<const char*, 6> kShapes = {"M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z",
                                                "M-4.5 -4.5h9v9h-9z",
                                                "M0 -5.8L5.5 4.2H-5.5z",
                                                "M0 -6.2L6.2 0L0 6.2L-6.2 0z",
                                                "M0 5.8L5.5 -4.2H-5.5z",
                                                "M-2 -6h4v4h4v4h-4v4h-4v-4h-4v-4h4z"};
constexpr size_t kColours = 6;

size_t ColourOf(size_t series) { return series % kColours; }
// Shifted by one each time colours repeat: the first 36 series all differ.
const char* ShapeOf(size_t series) {
  return kShapes[(series + series / kColours) % kShapes.size()];
}

struct Box {
  double left = 0.0, top = 0.0, right = 0.0, bottom = 0.0;

  bool Meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
  bool IsWithin(const Box& outer) const {
    return left >= outer.left && right <= outer.right && top >= outer.top && bottom <= outer.bottom;
  }
};

// A point that can be drawn, and where.
struct DrawnPoint {
  const PlotPoint* point = nullptr;
  double x = 0.0;
  double y = 0.0;
  bool starts_line = false;  // no line comes from the point before
  bool has_mark = true;
};

std::string Plural(size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// Draws one plot, from the back to the front.
class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    Choose();
    Place();
  }

  std::string Draw() {
    out_ = fmt::format(
        "<svg class=\"rw\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" "
        "width=\"100%\" role=\"img\">\n<title>{}</title>\n<desc>{}</desc>\n"
        "<style>{}</style>\n<rect class=\"paper\" width=\"{:.0f}\" height=\"{:.0f}\"/>\n",
        kWidth, kHeight, EscapeMarkup(plot_.title), EscapeMarkup(Description()), kStyle, kWidth,
        kHeight);
    Text("title", kEdge, 28.0, ShortenText(CleanText(plot_.title), kWidth - 2 * kEdge, kTitleFont));
    DrawLegend();
    DrawAxes();
    DrawReferences();
    for (size_t i = 0; i < drawn_.size(); ++i) DrawLine(i);
    for (size_t i = 0; i < drawn_.size(); ++i) DrawMarks(i);
    DrawReferenceNames();
    for (const std::vector<DrawnPoint>& points : drawn_) DrawLabels(points);
    if (!note_.empty()) Text("soft", kEdge, kHeight - 12.0, note_);
    return out_ + "</svg>\n";
  }

 private:
  bool CanDraw(const PlotPoint& point) const {
    return PlotAxis::CanShow(point.x, plot_.x_scale) &&
           PlotAxis::CanShow(point.y, PlotScale::kLinear);
  }

  // What is drawn and what is left out; the axes follow from it.
  void Choose() {
    std::vector<double> xs, ys;
    size_t points_left_out = 0;
    for (const PlotSeries& series : plot_.series) {
      std::vector<DrawnPoint> points;
      bool starts_line = true;
      for (const PlotPoint& point : series.points) {
        if (!CanDraw(point)) {
          ++points_left_out;
          starts_line = true;
          continue;
        }
        xs.push_back(point.x);
        ys.push_back(point.y);
        points.push_back({.point = &point, .starts_line = starts_line});
        starts_line = false;
      }
      if (series.is_line) ThinOutMarks(points);
      drawn_.push_back(std::move(points));
    }
    has_points_ = !xs.empty();
    for (const PlotReference& reference : plot_.references) {
      if (!PlotAxis::CanShow(reference.y, PlotScale::kLinear)) continue;
      references_.push_back(&reference);
      ys.push_back(reference.y);
    }
    x_axis_.emplace(xs, plot_.x_scale, plot_.x_unit);
    y_axis_.emplace(ys, PlotScale::kLinear, PlotUnit::kNone);
    MakeNote(points_left_out, plot_.references.size() - references_.size());
  }

  static void ThinOutMarks(std::vector<DrawnPoint>& points) {
    constexpr size_t kAllHaveMarks = 40;
    constexpr size_t kMarks = 12;
    if (points.size() <= kAllHaveMarks) return;
    const size_t stride = (points.size() + kMarks - 1) / kMarks;
    for (size_t i = 0; i < points.size(); ++i) {
      const bool ends_line = i + 1 == points.size() || points[i + 1].starts_line;
      const bool is_alone = points[i].starts_line && ends_line;
      points[i].has_mark = i % stride == 0 || is_alone || !points[i].point->label.empty();
    }
  }

  void MakeNote(size_t points, size_t references) {
    if (points + references == 0) return;
    std::string what = points == 0 ? "" : Plural(points, "point");
    if (references > 0) {
      what += (what.empty() ? "" : " and ") + Plural(references, "reference line");
    }
    note_ = fmt::format("Left out: {} without {}.", what,
                        points > 0 && plot_.x_scale != PlotScale::kLinear
                            ? "finite figures, or not above 0 on the logarithmic axis"
                            : "finite figures");
  }

  std::string Description() const {
    return plot_.description + (plot_.description.empty() || note_.empty() ? "" : " ") + note_;
  }

  // Room for what stands around the plot, then every point's place.
  void Place() {
    legend_rows_ = MakeLegend();
    double widest = 0.0;
    for (const PlotAxis::Tick& tick : y_axis_->ticks()) {
      widest = std::max(widest, TextWidth(tick.label, kFont));
    }
    area_ = {.left = kEdge + widest + 10.0,
             .top = 66.0 + kLegendRow * static_cast<double>(legend_rows_),
             .right = kWidth - kEdge,
             .bottom = kHeight - (note_.empty() ? 52.0 : 72.0)};
    for (std::vector<DrawnPoint>& points : drawn_) {
      for (DrawnPoint& drawn : points) {
        drawn.x = XOf(x_axis_->Position(drawn.point->x));
        drawn.y = YOf(y_axis_->Position(drawn.point->y));
        if (drawn.has_mark) {
          taken_.push_back(MarkBox(drawn));
        }
      }
    }
  }

  static Box MarkBox(const DrawnPoint& drawn) {
    return {drawn.x - kMarkRadius, drawn.y - kMarkRadius, drawn.x + kMarkRadius,
            drawn.y + kMarkRadius};
  }

  double XOf(double position) const { return area_.left + position * (area_.right - area_.left); }
  double YOf(double position) const { return area_.bottom - position * (area_.bottom - area_.top); }

  void Text(std::string_view classes, double x, double y, const std::string& clean) {
    out_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", classes, x, y,
                        EscapeMarkup(clean));
  }

  void Line(std::string_view classes, double x1, double y1, double x2, double y2) {
    out_ += fmt::format(
        "<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", classes,
        x1, y1, x2, y2);
  }

  void Mark(size_t series, double x, double y, const std::string& title) {
    out_ += fmt::format("<path class=\"mark f{}\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\">",
                        ColourOf(series), x, y, ShapeOf(series));
    out_ += fmt::format("<title>{}</title></path>\n", EscapeMarkup(title));
  }

  // ---- Legend -----------------------------------------------------------------------------------

  struct LegendEntry {
    size_t series = 0;
    double x = 0.0;
    size_t row = 0;
    std::string name;
  };

  // Entries side by side, in rows; the number of rows. Series that find no room are counted.
  size_t MakeLegend() {
    constexpr double kMark = 18.0;
    constexpr double kGap = 20.0;
    constexpr double kRest = 80.0;  // for "and 99 more"
    double x = kEdge;
    size_t row = 0;
    for (size_t i = 0; i < plot_.series.size(); ++i) {
      if (plot_.series[i].name.empty()) continue;
      const std::string name = ShortenText(CleanText(plot_.series[i].name),
                                           (kWidth - 2 * kEdge - kGap) / 2 - kMark, kFont);
      const double width = kMark + TextWidth(name, kFont);
      const auto end_of_row = [&] {
        return kWidth - kEdge - (row + 1 == kMostLegendRows ? kRest : 0.0);
      };
      if (x > kEdge && x + width > end_of_row() && row < kMostLegendRows) {
        ++row;
        if (row < kMostLegendRows) x = kEdge;
      }
      if (row == kMostLegendRows) {
        ++not_in_legend_;
        continue;
      }
      legend_.push_back({i, x, row, name});
      x += width + kGap;
    }
    legend_end_ = x;
    return legend_.empty() ? 0 : std::min(row + 1, kMostLegendRows);
  }

  void DrawLegend() {
    const auto baseline = [](size_t row) { return 52.0 + kLegendRow * static_cast<double>(row); };
    for (const LegendEntry& entry : legend_) {
      const std::string& name = plot_.series[entry.series].name;
      Mark(entry.series, entry.x + kMarkRadius, baseline(entry.row) - 4.0, name);
      Text("", entry.x + 16.0, baseline(entry.row), entry.name);
    }
    if (not_in_legend_ > 0) {
      Text("soft", legend_end_, baseline(kMostLegendRows - 1),
           fmt::format("and {} more", not_in_legend_));
    }
  }

  // ---- Axes -------------------------------------------------------------------------------------

  void DrawAxes() {
    const double width = kWidth - 2 * kEdge;
    Text("soft", kEdge, area_.top - 14.0, ShortenText(CleanText(plot_.y_name), width, kFont));
    Text("soft end", area_.right, area_.bottom + 38.0,
         ShortenText(CleanText(plot_.x_name), width, kFont));
    if (has_points_ || !references_.empty()) {
      for (const PlotAxis::Tick& tick : y_axis_->ticks()) {
        const double y = YOf(tick.position);
        Line("grid", area_.left, y, area_.right, y);
        Text("soft end", area_.left - 8.0, y + 4.0, tick.label);
      }
    }
    if (has_points_) {
      for (const PlotAxis::Tick& tick : x_axis_->ticks()) {
        const double x = XOf(tick.position);
        Line("grid", x, area_.top, x, area_.bottom);
        const double room = kWidth - 4.0 - TextWidth(tick.label, kFont) / 2;
        Text("soft middle", std::min(x, room), area_.bottom + 18.0, tick.label);
      }
    } else {
      Text("soft middle halo", (area_.left + area_.right) / 2, (area_.top + area_.bottom) / 2,
           "no points to show");
    }
    Line("axis", area_.left, area_.bottom, area_.right, area_.bottom);
  }

  // ---- References -------------------------------------------------------------------------------

  static std::string TitleOf(const PlotReference& reference) {
    return reference.name + " " + NumberText(reference.y);
  }

  void DrawReferences() {
    for (const PlotReference* reference : references_) {
      const double y = YOf(y_axis_->Position(reference->y));
      out_ += fmt::format("<g><title>{}</title>\n", EscapeMarkup(TitleOf(*reference)));
      Line("reference", area_.left, y, area_.right, y);
      out_ += "</g>\n";
    }
  }

  // Above the lines, moved apart where lines are close. Where lines are too many, the lowest ones
  // have their names in <title> only.
  void DrawReferenceNames() {
    constexpr double kApart = 15.0;
    std::vector<const PlotReference*> from_top = references_;
    std::stable_sort(from_top.begin(), from_top.end(),
                     [](const auto* a, const auto* b) { return a->y > b->y; });
    const double room = area_.bottom - area_.top;
    from_top.resize(std::min(from_top.size(), static_cast<size_t>(room / kApart)));
    std::vector<double> baselines;
    for (const PlotReference* reference : from_top) {
      const double wanted = YOf(y_axis_->Position(reference->y)) - 5.0;
      baselines.push_back(baselines.empty() ? wanted : std::max(wanted, baselines.back() + kApart));
    }
    // What was pushed over the bottom pushes back.
    double lowest = area_.bottom - 5.0;
    for (size_t i = baselines.size(); i-- > 0; lowest -= kApart) {
      lowest = baselines[i] = std::min(baselines[i], lowest);
    }
    for (size_t i = 0; i < from_top.size(); ++i) DrawReferenceName(*from_top[i], baselines[i]);
  }

  // At the right end of its line, or at the left one if it would hide fewer points there.
  void DrawReferenceName(const PlotReference& reference, double baseline) {
    const std::string value = " " + NumberText(reference.y);
    const double room = (area_.right - area_.left) / 2 - TextWidth(value, kFont);
    const std::string text = ShortenText(CleanText(reference.name), room, kFont) + value;
    const double width = TextWidth(text, kFont);
    const auto box_at = [&](double left) {
      return Box{left, baseline - 10.0, left + width, baseline + 3.0};
    };
    const Box at_left = box_at(area_.left + 4.0);
    const Box at_right = box_at(area_.right - 2.0 - width);
    const bool is_left = PointsIn(at_left) < PointsIn(at_right);
    taken_.push_back(is_left ? at_left : at_right);
    Text(is_left ? "soft halo" : "soft end halo", is_left ? at_left.left : at_right.right, baseline,
         text);
  }

  size_t PointsIn(const Box& box) const {
    size_t count = 0;
    for (const std::vector<DrawnPoint>& points : drawn_) {
      count += static_cast<size_t>(
          std::count_if(points.begin(), points.end(),
                        [&](const DrawnPoint& drawn) { return MarkBox(drawn).Meets(box); }));
    }
    return count;
  }

  // ---- Series -----------------------------------------------------------------------------------

  void DrawLine(size_t series) {
    if (!plot_.series[series].is_line || drawn_[series].empty()) return;
    std::string path;
    for (const DrawnPoint& drawn : drawn_[series]) {
      path += fmt::format("{}{:.1f} {:.1f}", drawn.starts_line ? "M" : "L", drawn.x, drawn.y);
    }
    out_ += fmt::format("<path class=\"line s{}\" d=\"{}\"/>\n", ColourOf(series), path);
  }

  void DrawMarks(size_t series) {
    const std::string& name = plot_.series[series].name;
    for (const DrawnPoint& drawn : drawn_[series]) {
      if (!drawn.has_mark) continue;
      const PlotPoint& point = *drawn.point;
      std::string title = name;
      if (!point.label.empty()) title += (title.empty() ? "" : ", ") + point.label;
      if (!title.empty()) title += ": ";
      const std::string x =
          plot_.x_unit == PlotUnit::kBytes ? BytesText(point.x) : NumberText(point.x);
      Mark(series, drawn.x, drawn.y, title + x + ", " + NumberText(point.y));
    }
  }

  // Right of the mark, left, above, below or aslant: the first place that is free. Where none is,
  // the label is in the mark's <title> only.
  void DrawLabels(const std::vector<DrawnPoint>& points) {
    constexpr double kLongest = 160.0;
    for (const DrawnPoint& drawn : points) {
      if (drawn.point->label.empty()) continue;
      const std::string label = ShortenText(CleanText(drawn.point->label), kLongest, kFont);
      const double width = TextWidth(label, kFont);
      struct Place {
        const char* classes;
        double anchor, baseline;  // from the mark
        double left;              // from the anchor
      };
      const std::array<Place, 8> places = {Place{"halo", 9.0, 4.0, 0.0},
                                           Place{"end halo", -9.0, 4.0, -width},
                                           Place{"middle halo", 0.0, -10.0, -width / 2},
                                           Place{"middle halo", 0.0, 18.0, -width / 2},
                                           Place{"halo", 6.0, -8.0, 0.0},
                                           Place{"halo", 6.0, 16.0, 0.0},
                                           Place{"end halo", -6.0, -8.0, -width},
                                           Place{"end halo", -6.0, 16.0, -width}};
      for (const Place& place : places) {
        const double x = drawn.x + place.anchor;
        const double baseline = drawn.y + place.baseline;
        const double left = x + place.left;
        const Box box = {left, baseline - 10.0, left + width, baseline + 3.0};
        const bool is_free = std::none_of(taken_.begin(), taken_.end(),
                                          [&](const Box& other) { return box.Meets(other); });
        if (!is_free || !box.IsWithin(area_)) continue;
        Text(place.classes, x, baseline, label);
        taken_.push_back(box);
        break;
      }
    }
  }

  const Plot& plot_;
  std::vector<std::vector<DrawnPoint>> drawn_;  // by series
  std::vector<const PlotReference*> references_;
  std::optional<PlotAxis> x_axis_, y_axis_;
  bool has_points_ = false;
  std::string note_;  // what was left out; "": nothing
  std::vector<LegendEntry> legend_;
  size_t legend_rows_ = 0;
  size_t not_in_legend_ = 0;
  double legend_end_ = 0.0;
  Box area_;                // between the axes
  std::vector<Box> taken_;  // where no label may stand
  std::string out_;
};

}  // namespace

std::string PlotToSvg(const Plot& plot) { return Drawing(plot).Draw(); }

}  // namespace rowhouse
