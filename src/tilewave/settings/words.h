// The words of a setting: one list, from which it is read, printed and refused, so that every
// command, QuEST's variables, Python and C++ know the same words and say the same of others.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tilewave {

/// A word and what it stands for.
template <class Value>
struct Word {
  std::string_view text;
  Value value;
};

/// "double, single or both": for messages and help texts.
template <class Value, std::size_t N>
std::string list_of(const std::array<Word<Value>, N>& words) {
  std::string list;
  for (std::size_t k = 0; k < N; ++k) {
    list += k == 0 ? "" : k + 1 == N ? " or " : ", ";
    list += words[k].text;
  }
  return list;
}

/// The value of a word, upper case or lower; nothing for any other text.
template <class Value, std::size_t N>
std::optional<Value> find_word(const std::array<Word<Value>, N>& words, std::string_view text);

/// ASCII letters in lower case.
std::string lower_case(std::string_view text);

/// Text of a user for a message: in quotes, cut after 60 characters, control characters as '?'.
std::string quoted(std::string_view text);

template <class Value, std::size_t N>
std::optional<Value> find_word(const std::array<Word<Value>, N>& words, std::string_view text) {
  const std::string lower = lower_case(text);
  for (const auto& word : words) {
    if (word.text == lower) return word.value;
  }
  return std::nullopt;
}

}  // namespace tilewave
