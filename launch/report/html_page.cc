#include "launch/report/html_page.h"

#include <fmt/format.h>

#include "launch/report/markup_text.h"
#include "launch/report/report_file.h"

namespace rowhouse {
namespace {

constexpr const char* kStyle =
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:#1f2328;"
    "background:#fff;max-width:760px;margin:2.5rem auto;padding:0 1.25rem;overflow-wrap:anywhere}\n"
    "h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}\n"
    "h2{font-size:1.15rem;margin:2rem 0 .5rem}\n"
    "p{margin:.5rem 0}\n"
    // Narrow screens scroll these instead of shrinking their text.
    ".wide{overflow-x:auto;margin:1.25rem 0}\n"
    ".wide svg{display:block;min-width:30rem}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "caption{text-align:left;color:#59636e;padding-bottom:.4rem}\n"
    "th,td{text-align:left;font-weight:400;padding:.35rem .75rem .35rem 0;"
    "border-bottom:1px solid #e6e9ed;vertical-align:baseline}\n"
    "thead th{color:#59636e;border-bottom-color:#9aa3ad}\n"
    ".number{text-align:right;white-space:nowrap;padding:.35rem 0 .35rem .75rem}\n"
    "@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#15181c}"
    "caption,thead th{color:#a0a8b2}th,td{border-bottom-color:#2b3036}"
    "thead th{border-bottom-color:#68717b}}\n";

}  // namespace

HtmlPage::HtmlPage(std::string_view title) {
  const std::string escaped = EscapeMarkup(title);
  text_ = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n",
      escaped, kStyle, escaped);
}

void HtmlPage::AddHeading(std::string_view text) {
  text_ += fmt::format("<h2>{}</h2>\n", EscapeMarkup(text));
}

void HtmlPage::AddParagraph(std::string_view text) {
  text_ += fmt::format("<p>{}</p>\n", EscapeMarkup(text));
}

void HtmlPage::AddTable(const HtmlTable& table) {
  const auto class_of = [&](size_t column) {
    return table.columns[column].is_number ? " class=\"number\"" : "";
  };
  text_ += "<div class=\"wide\">\n<table>\n";
  if (!table.caption.empty()) {
    text_ += fmt::format("<caption>{}</caption>\n", EscapeMarkup(table.caption));
  }
  text_ += "<thead>\n<tr>";
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text_ += fmt::format("<th scope=\"col\"{}>{}</th>", class_of(i),
                         EscapeMarkup(table.columns[i].name));
  }
  text_ += "</tr>\n</thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    CHECK_EQ(row.size(), table.columns.size());
    text_ += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      text_ += i == 0
                   ? fmt::format("<th scope=\"row\"{}>{}</th>", class_of(i), EscapeMarkup(row[i]))
                   : fmt::format("<td{}>{}</td>", class_of(i), EscapeMarkup(row[i]));
    }
    text_ += "</tr>\n";
  }
  text_ += "</tbody>\n</table>\n</div>\n";
}

void HtmlPage::AddPlot(const Plot& plot) {
  text_ += "<div class=\"wide\">\n" + PlotToSvg(plot) + "</div>\n";
}

std::string HtmlPage::Text() const { return text_ + "</main>\n</body>\n</html>\n"; }

Status HtmlPage::Write(const std::string& path) const { return WriteReportFile(path, Text()); }

}  // namespace rowhouse
