// HtmlPage: one HTML file with text, tables and plots that needs nothing else: no script, no font,
// no style or picture from elsewhere (and its content security policy forbids them). Light or dark
// as the reader's system is. All text given is any text: it is escaped here.
// The same calls give the same bytes. Threads: one at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "launch/report/svg_plot.h"

namespace rowhouse {

struct HtmlTable {
  struct Column {
    std::string name;
    bool is_number = false;  // right-aligned, digits of equal width
  };
  std::string caption = {};  // "": none
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // the first cell names its row
};

class HtmlPage {
 public:
  explicit HtmlPage(std::string_view title);

  void AddHeading(std::string_view text);
  void AddParagraph(std::string_view text);
  // Requires as many cells in every row as there are columns.
  void AddTable(const HtmlTable& table);
  void AddPlot(const Plot& plot);

  // The whole file.
  std::string Text() const;

  // Replaces the file, whole or not at all; makes missing directories above it.
  Status Write(const std::string& path) const;

 private:
  std::string text_;  // all but the closing tags
};

}  // namespace rowhouse
