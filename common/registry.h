// Registry<Interface, Options>: the members of one family by name, so that a new member is a new
// file.
//
// A family's registry is a function-local static, filled before main by objects such as
//   REGISTER_MEMBER(Optimizers().Add<Adagrad>("adagrad", {kDecay}));
// and read-only afterwards, so it needs no lock. A member's constructor takes an `Options`. If that
// struct has a field `own` (or a function own_options()), it holds the values of the options that
// members declare (common/declared_option.h), and Make checks them.
//
// A family may have a Declaration: what each member says of itself, for code that knows members
// only by name. No other file compares names of members.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/declared_option.h"
#include "common/nearest_name.h"
#include "common/status.h"

// Registers something before main, from a file of its own:
//   REGISTER_MEMBER(CachePolicies().Add<Lru>("lru"));
// The files of a room are compiled as one, so each object has a name of its own.
#define REGISTER_MEMBER(...) REGISTER_MEMBER_NUMBERED(__COUNTER__, __VA_ARGS__)
#define REGISTER_MEMBER_NUMBERED(NUMBER, ...) REGISTER_MEMBER_NAMED(NUMBER, __VA_ARGS__)
#define REGISTER_MEMBER_NAMED(NUMBER, ...) const bool kRegistered##NUMBER = __VA_ARGS__

namespace rowhouse {

template <typename Interface, typename Options, typename Declaration = std::monostate>
class Registry {
 public:
  // `family` is the word used in errors: "optimizer".
  explicit Registry(std::string family) : family_(std::move(family)) {}

  template <typename Member>
  bool Add(const std::string& name, std::vector<DeclaredOption> own = {}) {
    static_assert(std::is_same_v<Declaration, std::monostate>, "members declare something");
    return Add<Member>(name, Declaration(), std::move(own));
  }
  template <typename Member>
  bool Add(const std::string& name, Declaration declaration, std::vector<DeclaredOption> own = {}) {
    return Add(
        name,
        [](const Options& options) -> Result<std::unique_ptr<Interface>> {
          return std::unique_ptr<Interface>(std::make_unique<Member>(options));
        },
        std::move(own), std::move(declaration));
  }

  // For members whose making can fail.
  using Factory = std::function<Result<std::unique_ptr<Interface>>(const Options&)>;
  bool Add(const std::string& name, Factory factory, std::vector<DeclaredOption> own = {},
           Declaration declaration = {}) {
    for (const DeclaredOption& option : own) CheckSameElsewhere(name, option);
    const bool added =
        members_.emplace(name, Member{std::move(factory), std::move(own), std::move(declaration)})
            .second;
    CHECK(added) << family_ << " \"" << name << "\" registered twice";
    return added;
  }

  // kUsage if `name` is unknown, or if `options` has a declared option that the member did not
  // declare, or a value that the option does not take. Otherwise errors are those of the member's
  // factory.
  Result<std::unique_ptr<Interface>> Make(std::string_view name, const Options& options) const {
    RETURN_IF_ERROR(Validate(name));
    const Member& member = members_.find(name)->second;
    if (const OptionValues* own = OwnIn(options); own != nullptr && !own->empty()) {
      RETURN_IF_ERROR(CheckDeclared(fmt::format("{} {}", family_, name), member.own, *own));
    }
    return member.factory(options);
  }

  // OK, or a kUsage error that lists the known names and the nearest one.
  Status Validate(std::string_view name) const {
    if (members_.contains(name)) return OkStatus();
    return UsageError("unknown {} \"{}\" {}", family_, name, DescribeKnownNames(name, Names()));
  }

  // Sorted.
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, member] : members_) names.push_back(name);
    return names;
  }

  // What a member says of itself; an empty Declaration for an unknown name.
  const Declaration& DeclarationOf(std::string_view name) const {
    static const Declaration kNone = {};
    const auto found = members_.find(name);
    return found == members_.end() ? kNone : found->second.declaration;
  }

  // The options that a member declared; none for an unknown name.
  const std::vector<DeclaredOption>& OptionsOf(std::string_view name) const {
    static const std::vector<DeclaredOption> kNone;
    const auto found = members_.find(name);
    return found == members_.end() ? kNone : found->second.own;
  }

  // Whether `name` declared `option`.
  bool Declares(std::string_view name, std::string_view option) const {
    const std::vector<DeclaredOption>& own = OptionsOf(name);
    return std::ranges::find(own, option, &DeclaredOption::name) != own.end();
  }

  // The options that any member declared, each once. Members come by name, and the options of a
  // member in the order in which it lists them.
  std::vector<DeclaredOption> DeclaredOptions() const {
    std::vector<DeclaredOption> all;
    for (const auto& [name, member] : members_) {
      for (const DeclaredOption& option : member.own) {
        if (std::ranges::find(all, option) == all.end()) all.push_back(option);
      }
    }
    return all;
  }

  // Names of the members that declared `option`, sorted.
  std::vector<std::string> NamesTaking(std::string_view option) const {
    std::vector<std::string> names;
    for (const auto& [name, member] : members_) {
      if (std::ranges::find(member.own, option, &DeclaredOption::name) != member.own.end()) {
        names.push_back(name);
      }
    }
    return names;
  }

 private:
  struct Member {
    Factory factory;
    std::vector<DeclaredOption> own;
    Declaration declaration;
  };

  // One flag sets an option of several members, so it means the same to all of them.
  void CheckSameElsewhere(const std::string& name, const DeclaredOption& option) const {
    for (const auto& [other, member] : members_) {
      for (const DeclaredOption& known : member.own) {
        CHECK(known.name() != option.name() || known == option)
            << family_ << "s \"" << other << "\" and \"" << name << "\" declare \"" << option.name()
            << "\" differently";
      }
    }
  }

  static const OptionValues* OwnIn(const Options& options) {
    if constexpr (requires { options.own; }) {
      return &options.own;
    } else if constexpr (requires { options.own_options(); }) {
      return &options.own_options();
    } else {
      return nullptr;
    }
  }

  const std::string family_;
  std::map<std::string, Member, std::less<>> members_;
};

}  // namespace rowhouse
