// Checks of arguments. A failed one throws InvalidCall, which names the argument, its value and
// what it may be, and says what QuEST says of it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tilewave/quest/core/quest_words.h"
#include "tilewave/quest/core/register.h"

namespace tilewave::quest {

/// Throws what is made of the parts, or where the environment asks for it `words`.
template <class... Parts>
[[noreturn]] void fail(QuestWords words, const Parts&... parts) {
  throw InvalidCall(concat(parts...), words.text);
}
/// The same with words that name something: filled().
template <class... Parts>
[[noreturn]] void fail(const std::string& words, const Parts&... parts) {
  throw InvalidCall(concat(parts...), words);
}

/// What a list of qubits is called in the header: an array, or an argument each.
class ArgumentNames {
 public:
  ArgumentNames(const char* array) : array_(array) {}
  template <std::size_t kCount>
  ArgumentNames(const char* const (&each)[kCount]) : array_("qubits"), each_(each) {}
  std::string of(int k) const {
    return each_.empty() ? concat(array_, "[", k, "]") : each_[static_cast<std::size_t>(k)];
  }
  const char* array() const { return array_; }

 private:
  const char* array_;
  std::span<const char* const> each_;
};

/// What a qubit is named as: QuEST has other words for each.
enum class Role : std::uint8_t { kQubit, kTarget, kControl };

void check_pointer(const void* pointer, const char* name, QuestWords words = Words::kNone);
void check_range(long long value, long long first, long long last, const char* name,
                 QuestWords words = Words::kNone);
/// The number of qubits of something new.
void check_new_qubits(int num_qubits, int most, QuestWords too_many = Words::kTooManyQubits,
                      const char* name = "numQubits");
/// Every rank of the environment, and of the run, has at least one of `count` elements.
void check_share(long long count, int env_ranks, int num_qubits, const char* what, QuestWords words,
                 const char* name = "numQubits");
void check_qubit(const Register& r, int qubit, const char* name, Role role = Role::kTarget);
void check_outcome(int outcome);
void check_finite(double value, const char* name);
void check_density(const Register& r, const char* name);
void check_state_vector(const Register& r, const char* name,
                        QuestWords words = Words::kOnlyStateVectors);
/// Two state vectors, or two density matrices.
void check_same_kind(const Register& a, const Register& b, const char* what);
void check_same_size(const Register& a, const Register& b, const char* what);
/// `words`: where it is a probability, but above `most`.
void check_probability(double p, double most, const char* name,
                       QuestWords words = Words::kProbability);
/// A list of distinct qubits, copied; `least` 0 allows an empty one.
std::vector<Qubit> check_qubits(const Register& r, const int* qubits, int count, int least,
                                const ArgumentNames& names, Role role = Role::kTarget);
/// `words`: where the lists share a qubit.
void check_disjoint(std::span<const Qubit> a, std::span<const Qubit> b,
                    QuestWords words = Words::kControlIsTarget);
/// Tolerance 1e-10 in double precision, 1e-4 in single.
double tolerance(const Register& r);
void check_unitary(const Register& r, std::span<const cplx> m, const char* name,
                   QuestWords words = Words::kMatrixNotUnitary);
/// The sum of K^dagger K is the identity.
void check_trace_preserving(const Register& r, const std::vector<std::vector<cplx>>& ops);

}  // namespace tilewave::quest
