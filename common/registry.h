// Registry<Interface, Options>: name -> factory, so that a new member of a family is a new file.
//
// A family's registry is a function-local static, filled before main by objects such as
//   const bool kRegistered = Optimizers().Add<Adagrad>("adagrad");
// and read-only afterwards, so it needs no lock. Options are handed to the member's constructor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/nearest_name.h"
#include "common/status.h"

namespace rowhouse {

template <typename Interface, typename Options>
class Registry {
 public:
  // `family` is the word used in errors: "optimizer".
  explicit Registry(std::string family) : family_(std::move(family)) {}

  template <typename Member>
  bool Add(const std::string& name) {
    return Add(name, [](const Options& options) -> Result<std::unique_ptr<Interface>> {
      return std::unique_ptr<Interface>(std::make_unique<Member>(options));
    });
  }

  // For members whose making can fail.
  using Factory = std::function<Result<std::unique_ptr<Interface>>(const Options&)>;
  bool Add(const std::string& name, Factory factory) {
    const bool added = factories_.emplace(name, std::move(factory)).second;
    CHECK(added) << family_ << " \"" << name << "\" registered twice";
    return added;
  }

  Result<std::unique_ptr<Interface>> Make(std::string_view name, const Options& options) const {
    RETURN_IF_ERROR(Validate(name));
    return factories_.find(std::string(name))->second(options);
  }

  // OK, or a kUsage error that lists the known names and the nearest one.
  Status Validate(std::string_view name) const {
    if (factories_.contains(std::string(name))) return OkStatus();
    return UsageError("unknown {} \"{}\" {}", family_, name, DescribeKnownNames(name, Names()));
  }

  // Sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, factory] : factories_) names.push_back(name);
    return names;
  }

 private:
  const std::string family_;
  std::map<std::string, Factory> factories_;
};

}  // namespace rowhouse
