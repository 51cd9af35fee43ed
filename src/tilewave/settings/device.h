// Where something runs, as people write it: auto, cpu, cuda, cuda:1, cuda:0-3, cuda:0,2, and, for
// what can share its work among both kinds, cpu+cuda:0-3. Names only: which devices a machine has
// is asked of runtime/.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tilewave {

class DeviceSet {
 public:
  /// Whatever suits the work.
  static DeviceSet automatic() { return {}; }
  static DeviceSet cpu();
  static DeviceSet cuda(std::vector<int> indices);
  static DeviceSet cpu_and_cuda(std::vector<int> indices);
  /// Reads a text, upper case or lower; `gpu` is another word for cuda. Throws Error(kUsage) that
  /// lists the forms.
  static DeviceSet parse(std::string_view text);

  bool is_auto() const { return is_auto_; }
  bool has_cpu() const { return has_cpu_; }
  bool has_cuda() const { return !cuda_.empty(); }
  /// Each once, in the order given; device 0 for plain "cuda".
  std::span<const int> cuda() const { return cuda_; }
  /// False for plain "cuda": where processes share a host, each takes one of its own.
  bool is_numbered() const { return is_numbered_; }
  bool is_cpu() const { return has_cpu_ && cuda_.empty(); }
  /// The text it is read from, in its shortest form.
  std::string text() const;

  bool operator==(const DeviceSet&) const = default;

 private:
  bool is_auto_ = true, has_cpu_ = false, is_numbered_ = true;
  std::vector<int> cuda_;
};

/// The forms that parse() takes, for help texts.
std::string device_words();
/// Throws Error(kUsage) where CPU and GPUs are to share work that only one kind can do.
void need_one_kind(const DeviceSet& devices);

}  // namespace tilewave
