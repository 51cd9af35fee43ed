// Lists of calls to make later, each with the name of its function.
#pragma once
#include <cstring>
#include <type_traits>
#include <vector>

// A call to make later: what std::function does, for closures that are a few references and plain
// values. The tests have some four hundred; each costs the compiler a fraction of a std::function.
template <class... Args>
class Call {
 public:
  template <class F>
  Call(F f)
      : run_([](const void* f_at, Args... args) { (*static_cast<const F*>(f_at))(args...); }) {
    static_assert(sizeof(F) <= sizeof closure_ && std::is_trivially_copyable_v<F>);
    std::memcpy(closure_, &f, sizeof(F));
  }
  void operator()(Args... args) const { run_(closure_, args...); }

 private:
  alignas(8) unsigned char closure_[96] = {};
  void (*run_)(const void*, Args...);
};

template <class F>
struct Named {
  const char* name;
  F call;
};
template <class F>
using Calls = std::vector<Named<F>>;
