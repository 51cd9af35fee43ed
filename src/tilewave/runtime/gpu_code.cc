#include "tilewave/runtime/gpu_code.h"

#include <algorithm>
#include <charconv>

#include "tilewave/base/error.h"
#include "tilewave/runtime/machine.h"

namespace tilewave::runtime {

namespace {

bool runs_on(const GpuCode& code, int major, int minor) {
  const int device = 10 * major + minor;
  const bool same_major = code.capability / 10 == major;
  if (code.only_for == 'a') return code.capability == device;
  if (code.capability > device) return false;
  return same_major || (code.is_ptx && code.only_for == '\0');
}

/// One entry: machine code, PTX, or both.
void parse_entry(std::string_view entry, std::vector<GpuCode>& to) {
  std::string_view number = entry;
  bool real = true, ptx = true;
  for (const auto& [suffix, is_ptx] : {std::pair{"-real", false}, std::pair{"-virtual", true}}) {
    if (!number.ends_with(suffix)) continue;
    number.remove_suffix(std::string_view(suffix).size());
    real = !is_ptx, ptx = is_ptx;
  }
  GpuCode code;
  const auto [end, problem] =
      std::from_chars(number.data(), number.data() + number.size(), code.capability);
  const std::string_view rest(end, static_cast<std::size_t>(number.data() + number.size() - end));
  if (problem != std::errc{} || code.capability < 10 || (rest != "" && rest != "a" && rest != "f"))
    fail(ExitCode::kInternal, "'", entry, "' is no architecture of a GPU, like 90 or 90-real");
  if (!rest.empty()) code.only_for = rest[0];
  if (real) to.push_back(code);
  code.is_ptx = true;
  if (ptx) to.push_back(code);
}

}  // namespace

std::string GpuCode::text() const {
  std::string out = (is_ptx ? "compute_" : "sm_") + std::to_string(capability);
  if (only_for != '\0') out += only_for;
  return out;
}

std::vector<GpuCode> parse_gpu_code(std::string_view list) {
  std::vector<GpuCode> all;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(";,"), list.size());
    if (end > 0) parse_entry(list.substr(0, end), all);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return all;
}

const std::vector<GpuCode>& built_gpu_code() {
  static const auto* const all = new std::vector<GpuCode>(parse_gpu_code(TW_CUDA_CODE));
  return *all;
}

std::optional<GpuCode> gpu_code_for(const std::vector<GpuCode>& all, int major, int minor) {
  std::optional<GpuCode> best;
  for (const GpuCode& code : all) {
    if (!runs_on(code, major, minor)) continue;
    const bool better = !best || (best->is_ptx && !code.is_ptx) ||
                        (best->is_ptx == code.is_ptx && code.capability > best->capability);
    if (better) best = code;
  }
  return best;
}

std::string gpu_code_text(const std::vector<GpuCode>& all) {
  std::string machine, ptx;
  for (const GpuCode& code : all) {
    std::string& out = code.is_ptx ? ptx : machine;
    out += (out.empty() ? "" : ", ") + code.text();
    if (code.is_ptx && code.only_for == '\0') out += " and later";
  }
  if (machine.empty() && ptx.empty()) return "none";
  std::string out = machine.empty() ? "no machine code" : "machine code for " + machine;
  return out + (ptx.empty() ? "; no PTX" : "; PTX for " + ptx);
}

std::string code_text(const CudaDevice& device) {
  const auto code = gpu_code_for(built_gpu_code(), device.major, device.minor);
  if (!code) return "none in this build";
  return code->is_ptx ? code->text() + ", which the driver compiles"
                      : "machine code " + code->text();
}

}  // namespace tilewave::runtime
