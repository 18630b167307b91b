#include "worker/data/text/movielens_files.h"

#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <functional>

#include "worker/data/text/field_text.h"
#include "worker/data/text/record_scanner.h"
#include "worker/data/text/text_chunks.h"

namespace rowhouse {
namespace {

using Fields = std::vector<std::string_view>;

constexpr std::array<const char*, 18> kGenres = {
    "Action",      "Adventure", "Animation", "Children's", "Comedy", "Crime",
    "Documentary", "Drama",     "Fantasy",   "Film-Noir",  "Horror", "Musical",
    "Mystery",     "Romance",   "Sci-Fi",    "Thriller",   "War",    "Western"};

bool EndsWith(std::string path, std::string_view end) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (path.ends_with(packed)) path.resize(path.size() - packed.size());
  }
  return path.ends_with(end);
}

// `path`, or what it is called when compressed; "" if neither is there.
std::string Found(const std::string& path) {
  std::error_code ignored;
  for (const char* packed : {"", ".gz", ".zst"}) {
    if (std::filesystem::exists(path + packed, ignored)) return path + packed;
  }
  return "";
}

// The file `name` beside `ratings`, or its stem with `extension`.
std::string Beside(const std::string& ratings, const std::string& name,
                   const std::string& extension) {
  const std::filesystem::path path(ratings);
  if (EndsWith(ratings, ".inter")) {
    const std::string stem = ratings.substr(0, ratings.rfind(".inter"));
    return Found(stem + extension);
  }
  return Found((path.parent_path() / name).string());
}

// Calls visit(fields, where) for each record.
Status ForEachRecord(const std::string& file, char separator, bool has_quotes, bool has_header,
                     const std::function<Status(const Fields&, const std::string&)>& visit) {
  ASSIGN_OR_RETURN(TextChunks chunks, TextChunks::Open({file}, {.has_quotes = has_quotes}));
  TextChunk chunk;
  Fields fields;
  for (;;) {
    ASSIGN_OR_RETURN(const bool more, chunks.Next(&chunk));
    if (!more) return OkStatus();
    RecordScanner scanner(chunk.bytes, separator, has_quotes);
    uint64_t line = chunk.first_line;
    if (has_header && chunk.is_first_of_file && scanner.Next(&fields)) ++line;
    for (; scanner.Next(&fields); ++line) {
      RETURN_IF_ERROR(visit(fields, fmt::format("{}:{}", file, line)));
    }
  }
}

// Fields between "::", which a scanner for ':' gives with empty ones between them.
Fields WithoutGaps(const Fields& fields) {
  Fields whole;
  for (size_t i = 0; i < fields.size(); i += 2) whole.push_back(fields[i]);
  return whole;
}

Status TooShort(const std::string& where, size_t fields, size_t expected) {
  return UsageError("{}: the line has {} fields, expected {} or more; is this MovieLens' file?",
                    where, fields, expected);
}

// "Toy Story (1995)" -> "Toy Story", "1995".
std::pair<std::string, std::string> TitleAndYear(std::string_view title) {
  const size_t end = title.find_last_not_of(' ');
  if (end != std::string_view::npos && end >= 6 && title[end] == ')' && title[end - 5] == '(') {
    const std::string_view year = title.substr(end - 4, 4);
    if (std::ranges::all_of(year, [](unsigned char c) { return std::isdigit(c) != 0; })) {
      std::string_view name = title.substr(0, end - 5);
      while (name.ends_with(' ')) name.remove_suffix(1);
      return {std::string(name), std::string(year)};
    }
  }
  return {std::string(title), ""};
}

// The genres of a movie with one name each over all releases, separated by |.
std::string Genres(std::string_view text, char separator) {
  if (text == "(no genres listed)") return "";
  std::string joined;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    std::string_view genre = text.substr(begin, end - begin);
    if (genre == "Children") genre = "Children's";
    if (!genre.empty() && genre != "unknown") {
      if (!joined.empty()) joined += '|';
      joined += genre;
    }
    begin = end + 1;
  }
  return joined;
}

std::vector<std::string> UserRow(std::string_view age, std::string_view gender,
                                 std::string_view occupation, std::string_view zip_code) {
  const char* const is_male = gender.empty() ? "" : gender == "M" ? "1" : "0";
  return {std::string(age), std::string(gender), is_male, std::string(occupation),
          std::string(zip_code)};
}

std::vector<std::string> MovieRow(std::string title, std::string year, std::string genres) {
  if (!FloatOf(year)) year.clear();  // RecBole's file of 100K has a year "unkonwn"
  std::vector<std::string> row = {std::move(title), std::move(year), std::move(genres)};
  const std::string listed = "|" + row[2] + "|";
  for (const char* const genre : kGenres) {
    row.push_back(listed.find(fmt::format("|{}|", genre)) != std::string::npos ? "1" : "0");
  }
  return row;
}

// u.item: id|title (year)|date|date|URL|19 flags, the first for "unknown".
std::vector<std::string> MovieOf100K(const Fields& fields) {
  auto [title, year] = TitleAndYear(fields[1]);
  if (year.empty() && fields[2].size() >= 4) year = fields[2].substr(fields[2].size() - 4);
  std::string genres;
  for (size_t i = 0; i < kGenres.size(); ++i) {
    if (fields[6 + i] != "1") continue;
    if (!genres.empty()) genres += '|';
    genres += kGenres[i];
  }
  return MovieRow(std::move(title), std::move(year), std::move(genres));
}

// Where the columns of a RecBole file are, by their names before ":".
Result<std::vector<size_t>> ColumnsOf(const std::string& file,
                                      const std::vector<std::string>& wanted) {
  ASSIGN_OR_RETURN(const std::string header, FirstRecordOf(file, {}));
  RecordScanner scanner(header, '\t', false);
  Fields fields;
  scanner.Next(&fields);
  std::vector<size_t> columns;
  for (const std::string& name : wanted) {
    const auto found = std::ranges::find_if(
        fields, [&](std::string_view field) { return field.substr(0, field.find(':')) == name; });
    if (found == fields.end()) return UsageError("{}:1: there is no column \"{}\"", file, name);
    columns.push_back(static_cast<size_t>(found - fields.begin()));
  }
  return columns;
}

}  // namespace

Result<RatingsForm> RatingsForm::Of(std::string_view first_record, const std::string& file) {
  RatingsForm form;
  const bool is_recbole = first_record.find(":token") != std::string_view::npos;
  if (!is_recbole && first_record.find("::") != std::string_view::npos) {
    const auto colons = static_cast<size_t>(std::ranges::count(first_record, ':'));
    form.separator = ':';
    form.fields = colons + 1;
    form.at = {0, 2, 4, 6};
    for (auto& at : form.at) {
      if (*at >= form.fields) at.reset();
    }
    return form;
  }
  const bool is_csv = first_record.find("userId") != std::string_view::npos;
  form.separator = is_csv ? ',' : '\t';
  RecordScanner scanner(first_record, form.separator, false);
  Fields fields;
  scanner.Next(&fields);
  form.fields = fields.size();
  form.has_header = is_csv || is_recbole;
  constexpr std::array<std::string_view, 4> kCsv = {"userId", "movieId", "rating", "timestamp"};
  constexpr std::array<std::string_view, 4> kRecBole = {"user_id", "item_id", "rating",
                                                        "timestamp"};
  for (size_t i = 0; i < form.at.size(); ++i) {
    if (form.has_header) {
      const std::string_view name = is_csv ? kCsv[i] : kRecBole[i];
      const auto found = std::ranges::find_if(
          fields, [&](std::string_view field) { return field.substr(0, field.find(':')) == name; });
      form.at[i].reset();
      if (found != fields.end()) form.at[i] = static_cast<size_t>(found - fields.begin());
    } else if (*form.at[i] >= form.fields) {
      form.at[i].reset();
    }
  }
  if (form.at[0] && form.at[1]) return form;
  return UsageError(
      "{}:1: the line has no user and item; MovieLens' ratings are u.data, u1.base, ratings.dat, "
      "ratings.csv or a file .inter",
      file);
}

Status SideTable::Add(std::string_view id, std::vector<std::string> row, const std::string& where) {
  uint64_t number = 0;
  const auto [stop, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  if (error == std::errc() && stop == id.data() + id.size()) {
    greatest_id_ = std::max(greatest_id_, number);
  }
  std::string all(id);
  for (const std::string& text : row) all += '\0' + text;
  digest_ += XXH3_64bits(all.data(), all.size());
  if (rows_.emplace(std::string(id), std::move(row)).second) return OkStatus();
  return UsageError("{}: id \"{}\" is there twice", where, id);
}

std::span<const std::string> SideTable::Of(std::string_view id) const {
  const auto found = rows_.find(id);
  return found == rows_.end() ? std::span<const std::string>(unknown_) : found->second;
}

Result<SideTable> SideTable::UsersBeside(const std::string& ratings) {
  SideTable table;
  table.names_ = {"age", "gender", "is_male", "occupation", "zip_code"};
  table.unknown_.resize(table.names_.size());
  if (const std::string file = Beside(ratings, "u.user", ".user"); !file.empty()) {
    const bool is_recbole = EndsWith(file, ".user") && !EndsWith(file, "u.user");
    std::vector<size_t> at = {0, 1, 2, 3, 4};
    if (is_recbole) {
      ASSIGN_OR_RETURN(at, ColumnsOf(file, {"user_id", "age", "gender", "occupation", "zip_code"}));
    }
    RETURN_IF_ERROR(ForEachRecord(file, is_recbole ? '\t' : '|', false, is_recbole,
                                  [&](const Fields& fields, const std::string& where) -> Status {
                                    if (fields.size() < 5) return TooShort(where, fields.size(), 5);
                                    return table.Add(fields[at[0]],
                                                     UserRow(fields[at[1]], fields[at[2]],
                                                             fields[at[3]], fields[at[4]]),
                                                     where);
                                  }));
  } else if (const std::string dat = Beside(ratings, "users.dat", ".none"); !dat.empty()) {
    RETURN_IF_ERROR(ForEachRecord(
        dat, ':', false, false, [&](const Fields& gaps, const std::string& where) -> Status {
          const Fields fields = WithoutGaps(gaps);
          if (fields.size() < 5) return TooShort(where, fields.size(), 5);
          return table.Add(fields[0], UserRow(fields[2], fields[1], fields[3], fields[4]), where);
        }));
  }
  return table;
}

Result<SideTable> SideTable::MoviesBeside(const std::string& ratings) {
  SideTable table;
  table.names_ = {"title", "release_year", "genres"};
  for (const char* const genre : kGenres) table.names_.push_back(fmt::format("is_{}", genre));
  table.unknown_.resize(table.names_.size());
  const auto add = [&](std::string_view id, std::vector<std::string> row,
                       const std::string& where) { return table.Add(id, std::move(row), where); };
  if (EndsWith(ratings, ".inter")) {
    const std::string file = Beside(ratings, "", ".item");
    if (file.empty()) return table;
    ASSIGN_OR_RETURN(const std::vector<size_t> at,
                     ColumnsOf(file, {"item_id", "movie_title", "release_year", "class"}));
    RETURN_IF_ERROR(ForEachRecord(
        file, '\t', false, true, [&](const Fields& fields, const std::string& where) -> Status {
          if (fields.size() < 4) return TooShort(where, fields.size(), 4);
          return add(fields[at[0]],
                     MovieRow(std::string(fields[at[1]]), std::string(fields[at[2]]),
                              Genres(fields[at[3]], ' ')),
                     where);
        }));
  } else if (const std::string u_item = Beside(ratings, "u.item", ""); !u_item.empty()) {
    RETURN_IF_ERROR(ForEachRecord(u_item, '|', false, false,
                                  [&](const Fields& fields, const std::string& where) -> Status {
                                    if (fields.size() < 24)
                                      return TooShort(where, fields.size(), 24);
                                    return add(fields[0], MovieOf100K(fields), where);
                                  }));
  } else {
    const std::string csv = Beside(ratings, "movies.csv", "");
    const std::string file = csv.empty() ? Beside(ratings, "movies.dat", "") : csv;
    if (file.empty()) return table;
    RETURN_IF_ERROR(ForEachRecord(
        file, csv.empty() ? ':' : ',', !csv.empty(), !csv.empty(),
        [&](const Fields& all, const std::string& where) -> Status {
          if (all.size() < 3) return TooShort(where, all.size(), 3);
          // A title of movies.dat may have a colon: id and genres are the outer fields.
          std::string_view id = all.front(), genres = all.back(), title = all[1];
          if (csv.empty()) {
            const char* const begin = id.data() + id.size() + 2;
            title = std::string_view(begin, static_cast<size_t>(genres.data() - 2 - begin));
          }
          auto [name, year] = TitleAndYear(title);
          return add(id, MovieRow(std::move(name), std::move(year), Genres(genres, '|')), where);
        }));
  }
  return table;
}

}  // namespace rowhouse
