// Values as bytes and back, for checkpoints: numbers in the machine's order, lists behind their
// length. A reader never goes past its end. Both have fields() and count(), so that one list of what a
// thing is made of writes it and reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tilewave/base/error.h"

namespace tilewave::simulate {

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put_list(const std::vector<T>& list) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(std::uint64_t{list.size()});
    bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
  }
  void put_text(std::string_view text) {
    put(std::uint64_t{text.size()});
    bytes_.append(text);
  }
  /// All of them, one behind the other: numbers, flags, texts and lists of numbers.
  template <class... T>
  void fields(const T&... values) {
    (field(values), ...);
  }
  /// How many things a list has, whose fields follow.
  template <class T>
  void count(const std::vector<T>& list, std::size_t /*least_bytes*/) {
    put(std::uint64_t{list.size()});
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void field(const T& value) {
    put(value);
  }
  template <class T>
  void field(const std::vector<T>& list) {
    put_list(list);
  }
  void field(const std::string& text) { put_text(text); }

  std::string bytes_;
};

class ByteReader {
 public:
  /// `name` of the file, for messages.
  ByteReader(std::string_view bytes, std::string name) : rest_(bytes), name_(std::move(name)) {}

  /// Of a bool take get_flag(): not every byte is one.
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>);
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_list() {
    std::vector<T> list(get_count(sizeof(T)));
    if (!list.empty())
      std::memcpy(static_cast<void*>(list.data()), take(list.size() * sizeof(T)),
                  list.size() * sizeof(T));
    return list;
  }
  bool get_flag() { return get<std::uint8_t>() != 0; }
  std::string get_text() {
    const std::size_t size = get_count(1);
    return std::string(take(size), size);
  }
  /// A number of things that follow, of at least so many bytes each.
  std::size_t get_count(std::size_t least_bytes) {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / least_bytes) fail();
    return static_cast<std::size_t>(count);
  }
  /// As those of the writer.
  template <class... T>
  void fields(T&... values) {
    (field(values), ...);
  }
  /// Makes the list as long as it was; its things have at least so many bytes each.
  template <class T>
  void count(std::vector<T>& list, std::size_t least_bytes) {
    list.resize(get_count(least_bytes));
  }
  bool is_done() const { return rest_.empty(); }
  const std::string& name() const { return name_; }
  [[noreturn]] void fail() const {
    throw Error(ExitCode::kInput, name_ + ": the checkpoint is damaged: start the run anew");
  }

 private:
  template <class T>
  void field(T& value) {
    value = get<T>();
  }
  template <class T>
  void field(std::vector<T>& list) {
    list = get_list<T>();
  }
  void field(bool& flag) { flag = get_flag(); }
  void field(std::string& text) { text = get_text(); }
  const char* take(std::size_t size) {
    if (size > rest_.size()) fail();
    const char* at = rest_.data();
    rest_.remove_prefix(size);
    return at;
  }

  std::string_view rest_;
  std::string name_;
};

}  // namespace tilewave::simulate
