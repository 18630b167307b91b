// "movielens": MovieLens' ratings with features of users and movies, from the files as GroupLens or
// RecBole give them (worker/data/text/movielens_files.h). Files of users and movies lie beside the
// first file of ratings, of those as well that a model scores: they are part of what is scored. A
// user or movie that is not in them has missing features, and a schema that uses features of a file
// that is not there is refused.
//
// Columns. user, item, rating, timestamp; user_item = (user - 1) * m + item - 1, where m is the
//   greatest id of a movie in the data that the model was trained on first; and those of SideTable.
// Schema. Its own, unless one is given, which may use any of these columns: label 1 if rating >= 4;
//   dense columns age, is_male, release_year, timestamp (all but is_male standardised) and 12
//   genres; categorical columns user, item, user_item, by the names of the model's tables if it has
//   three, each id modulo the rows of its table. Without a file of users the first two are left
//   out.
#include <algorithm>
#include <filesystem>
#include <regex>

#include "worker/data/convert/prepared_text.h"
#include "worker/data/text/movielens_files.h"
#include "worker/data/text/record_scanner.h"
#include "worker/data/text/sample_fields.h"

namespace rowhouse {
namespace {

enum Column : size_t { kUser = 0, kItem = 1, kRating = 2, kTimestamp = 3, kUserItem = 4 };
constexpr size_t kOwnColumns = 5;

constexpr std::array<const char*, 3> kTokens = {"user", "item", "user_item"};
// The commonest in MovieLens-100K.
constexpr std::array<const char*, 12> kGenres = {"Drama",   "Comedy",    "Action",     "Thriller",
                                                 "Romance", "Adventure", "Children's", "Crime",
                                                 "Sci-Fi",  "Horror",    "War",        "Mystery"};

Schema MovieLensSchema(const TextFormatOptions& options, bool has_users, bool has_movies) {
  Schema schema;
  schema.format = "movielens";
  schema.separator = "\t";
  schema.has_quotes = schema.has_header = false;
  schema.label = {.column = "rating", .compare = ">=", .value = "4"};
  if (has_users) {
    schema.dense.push_back({.name = "age", .transform = "standardise", .missing = 33});
    schema.dense.push_back({.name = "is_male"});
  }
  if (has_movies) {
    schema.dense.push_back({.name = "release_year", .transform = "standardise", .missing = 1990});
  }
  schema.dense.push_back({.name = "timestamp", .transform = "standardise"});
  for (const char* const genre : kGenres) {
    if (has_movies) schema.dense.push_back({.name = fmt::format("is_{}", genre)});
  }
  for (size_t i = 0; i < kTokens.size(); ++i) {
    if (i == 2 && !has_movies) break;  // Without movies nobody knows how many there are.
    CategoricalColumn& column = schema.categorical.emplace_back();
    column.name = i < options.table_names.size() ? options.table_names[i] : kTokens[i];
    column.token = "integer";
    column.ids = "modulo";
    if (i < options.table_rows.size()) column.rows = options.table_rows[i];
  }
  return schema;
}

class MovieLensFormat final : public TextFormat {
 public:
  static Result<std::unique_ptr<TextFormat>> Open(const TextFormatOptions& options) {
    std::unique_ptr<MovieLensFormat> format(new MovieLensFormat);
    if (options.files.empty() || options.files[0] == "-") {
      return UsageError(
          "MovieLens' ratings are read from a file, beside which those of users and movies lie, "
          "not "
          "from standard input");
    }
    ASSIGN_OR_RETURN(format->users_, SideTable::UsersBeside(options.files[0]));
    ASSIGN_OR_RETURN(format->movies_, SideTable::MoviesBeside(options.files[0]));
    RETURN_IF_ERROR(format->SetSchema(options));
    return std::unique_ptr<TextFormat>(std::move(format));
  }

  const Schema& schema() const override { return schema_; }

  std::string side_digest() const override {
    return fmt::format("{:016x}{:016x}", users_.digest(), movies_.digest());
  }

  Status Parse(const TextChunk& chunk, Batch* raw, std::vector<BadLine>* bad) const override {
    ASSIGN_OR_RETURN(const RatingsForm form, RatingsForm::Of(*chunk.first_record, chunk.file_name));
    const bool has_rating = form.at[kRating].has_value();
    if (!has_rating && !unrated_) {
      return UsageError("{}:1: the lines have no rating, which the label needs", chunk.file_name);
    }
    const SampleFields& columns = has_rating ? *rated_ : *unrated_;
    columns.Begin(raw);
    RecordScanner scanner(chunk.bytes, form.separator, false);
    BadRecords faults(chunk, bad);
    std::vector<std::string_view> record, fields(columns.fields());
    if (form.has_header && chunk.is_first_of_file) scanner.Next(&record);
    std::string user_item;
    while (scanner.Next(&record)) {
      if (scanner.record().empty()) {
        faults.AddEmpty(scanner.position());
        continue;
      }
      if (record.size() != form.fields) {
        faults.Add(
            scanner.position(), scanner.position() + scanner.record().size(),
            fmt::format("the line has {} fields, the first line {}", record.size(), form.fields));
        continue;
      }
      Join(form, record, &fields, &user_item);
      if (const auto fault = columns.Add(fields, raw)) {
        const auto at = fault->field < form.at.size() ? form.at[fault->field] : std::nullopt;
        faults.Add(scanner.position(), scanner.field_position(at.value_or(0)), fault->message);
      }
    }
    return OkStatus();
  }

 private:
  MovieLensFormat() = default;

  Status SetSchema(const TextFormatOptions& options) {
    schema_ = options.schema.has_columns()
                  ? options.schema
                  : MovieLensSchema(options, !users_.empty(), !movies_.empty());
    schema_.greatest_movie = options.schema.greatest_movie;
    std::vector<std::string> names = {"user", "item", "rating", "timestamp", "user_item"};
    names.insert(names.end(), users_.names().begin(), users_.names().end());
    names.insert(names.end(), movies_.names().begin(), movies_.names().end());
    const std::string where = "MovieLens' columns";
    const Schema looked_up = WithColumnNames(schema_, names);
    RETURN_IF_ERROR(CheckSideFiles(looked_up, options.files[0]));
    if (schema_.greatest_movie == 0) schema_.greatest_movie = movies_.greatest_id();
    ASSIGN_OR_RETURN(rated_, SampleFields::Make(looked_up, names, where, true, false));
    if (options.needs_label) return OkStatus();
    names[kRating].clear();
    ASSIGN_OR_RETURN(unrated_, SampleFields::Make(looked_up, names, where, false, false));
    return OkStatus();
  }

  // Features of users and movies decide what a model says: without the files they would all be
  // missing, and scores silently others.
  Status CheckSideFiles(const Schema& schema, const std::string& ratings) const {
    std::vector<std::string> used;
    for (const DenseColumn& column : schema.dense) used.push_back(column.name);
    for (const CategoricalColumn& column : schema.categorical) used.push_back(column.name);
    for (const std::string& name : used) {
      const bool is_of_users = std::ranges::count(users_.names(), name) > 0;
      const bool is_of_movies = (name == kTokens[2] && schema_.greatest_movie == 0) ||
                                std::ranges::count(movies_.names(), name) > 0;
      if ((!is_of_users || !users_.empty()) && (!is_of_movies || !movies_.empty())) continue;
      return UsageError(
          "section schema uses column \"{}\", which the file of {} has, and none lies beside "
          "\"{}\" "
          "(u.{}, {}.dat{} or NAME.{}): put it there",
          name, is_of_users ? "users" : "movies", ratings, is_of_users ? "user" : "item",
          is_of_users ? "users" : "movies", is_of_users ? "" : ", movies.csv",
          is_of_users ? "user" : "item");
    }
    return OkStatus();
  }

  // Categorical columns that go by the names of a model's tables, none of which is a column, are
  // user, item and user_item.
  static Schema WithColumnNames(Schema schema, const std::vector<std::string>& names) {
    const bool is_any_known =
        std::ranges::any_of(schema.categorical, [&](const CategoricalColumn& column) {
          return std::ranges::count(names, column.name) > 0;
        });
    if (is_any_known || schema.categorical.size() > kTokens.size()) return schema;
    for (size_t i = 0; i < schema.categorical.size(); ++i) schema.categorical[i].name = kTokens[i];
    return schema;
  }

  // The fields of all columns, from a record of ratings and what is known of its user and movie.
  void Join(const RatingsForm& form, const std::vector<std::string_view>& record,
            std::vector<std::string_view>* fields, std::string* user_item) const {
    for (size_t i = 0; i < form.at.size(); ++i) {
      (*fields)[i] = form.at[i] ? record[*form.at[i]] : std::string_view();
    }
    const auto user = TokenKey(TokenType::kInteger, (*fields)[kUser]);
    const auto item = TokenKey(TokenType::kInteger, (*fields)[kItem]);
    user_item->clear();
    if (user && item && *user > 0 && *item > 0) {
      *user_item = fmt::format("{}", (*user - 1) * schema_.greatest_movie + *item - 1);
    }
    (*fields)[kUserItem] = *user_item;
    size_t next = kOwnColumns;
    for (const std::string& text : users_.Of((*fields)[kUser])) (*fields)[next++] = text;
    for (const std::string& text : movies_.Of((*fields)[kItem])) (*fields)[next++] = text;
  }

  Schema schema_;
  SideTable users_, movies_;
  std::optional<SampleFields> rated_, unrated_;  // the second only where labels are not needed
};

// MovieLens' own split where its files are given (u1.base and u1.test), else a fifth drawn by seed.
void ChooseTest(DatasetOptions* options) {
  HeldOut& held_out = options->held_out;
  if (!held_out.test_file.empty() || !options->text.prepared_test.empty() ||
      held_out.test_fraction > 0.0 || held_out.test_split != "tail" ||
      !held_out.split_index.empty()) {
    return;
  }
  constexpr std::string_view kBase = ".base";
  if (options->file.ends_with(kBase)) {
    const std::string test = options->file.substr(0, options->file.size() - kBase.size()) + ".test";
    std::error_code ignored;
    if (std::filesystem::exists(test, ignored)) {
      held_out.test_file = test;
      return;
    }
  }
  held_out.test_split = "random";
  held_out.test_fraction = 0.2;
}

bool LooksLikeMovieLens(const std::string& file, std::string_view line) {
  static const std::regex kNames("u\\.data|u[1-5ab]\\.(base|test)|ratings\\.dat");
  const std::string name = std::filesystem::path(file).filename();
  if (std::regex_match(name, kNames)) return true;
  if (name == "ratings.csv") return line.starts_with("userId,movieId,rating");
  return name.ends_with(".inter") && line.find("user_id:") != std::string_view::npos &&
         line.find("item_id:") != std::string_view::npos &&
         line.find("rating:") != std::string_view::npos;
}

// A pair of a user and a movie tells nothing of another one: what users do and where they live
// does.
REGISTER_MEMBER(TextFormats().Add("movielens", MovieLensFormat::Open, {},
                                  {.looks_so = &LooksLikeMovieLens,
                                   .not_guessed = {"user_item"},
                                   .beside = {"occupation", "zip_code"}}) &&
                AddTextDataset("movielens",
                               {.adjust = &ChooseTest, .why_untested = [](const DatasetOptions&) {
                                  return std::string();
                                }}));

}  // namespace
}  // namespace rowhouse
