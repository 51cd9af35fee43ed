#include "tilewave/simulate/checkpoint/folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/base/real_path.h"
#include "tilewave/base/whole_file.h"
#include "tilewave/runtime/write_pieces.h"
#include "tilewave/simulate/checkpoint/bytes.h"

namespace tilewave::simulate {

namespace fs = std::filesystem;
using statevec::State;

namespace {

constexpr std::string_view kMagic = "tilewave checkpoint 2\n";
constexpr char kName[] = "checkpoint", kPrefix[] = "checkpoint-", kNewName[] = "new";
constexpr std::size_t kIdSize = 16;
constexpr int kSliceBytesLog2 = 24;
constexpr std::uint64_t kFooterMagic = 0x31656c6966777401;

struct Footer {
  std::uint64_t num_slices = 0, index_offset = 0, index_hash = 0, magic = kFooterMagic;
};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

int slice_bits(const State& state) {
  return kSliceBytesLog2 - (statevec::amplitude_bytes(state.precision()) == 16 ? 4 : 3);
}

std::string random_id() {
  std::uint64_t number = 0;
  TW_CHECK(::getrandom(&number, sizeof number, 0) == sizeof number,
           "the system gives random bytes");
  char text[kIdSize + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

bool is_id(std::string_view text) {
  return text.size() == kIdSize && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// So that a name is on the disk, not only what it names.
int sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error =
      ::fsync(fd) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: nothing to sync there
  ::close(fd);
  return error;
}

class InputFile {
 public:
  explicit InputFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool is_open() const { return fd_ >= 0; }
  /// Nothing where it is no file that has a size.
  std::optional<std::uint64_t> size() const {
    struct stat info {};
    if (::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(info.st_size);
  }
  bool read_at(std::uint64_t offset, void* to, std::size_t num_bytes) const;

 private:
  int fd_;
};

bool InputFile::read_at(std::uint64_t offset, void* to, std::size_t num_bytes) const {
  auto* out = static_cast<char*>(to);
  while (num_bytes > 0) {
    const ssize_t n = ::pread(fd_, out, num_bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    out += n, offset += static_cast<std::uint64_t>(n), num_bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

[[noreturn]] void fail_damaged(const std::string& file, const std::string& why) {
  throw Error(ExitCode::kInput,
              file + ": " + why + " (the checkpoint is damaged): start the run anew");
}

// What the file `checkpoint` says.
struct Head {
  std::string id;
  std::vector<std::array<std::uint64_t, 2>> files;  // of every process: bytes, hash of the table
  std::string record;
};

Head read_head(const std::string& folder) {
  const std::string path = folder + "/" + kName;
  const auto fail_missing = [&](const std::string& why) {
    throw Error(ExitCode::kInput, folder + ": there is no checkpoint (" + why + ")");
  };
  const InputFile file(path);
  if (!file.is_open()) fail_missing(std::strerror(errno));
  const auto size = file.size();
  if (!size) fail_missing("it is no file");
  std::string text(static_cast<std::size_t>(*size), '\0');
  if (!file.read_at(0, text.data(), text.size())) fail_missing("it cannot be read");
  std::uint64_t hash = 0;
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + sizeof hash)
    fail_damaged(path, "it is no checkpoint of this version");
  std::memcpy(&hash, text.data() + text.size() - sizeof hash, sizeof hash);
  text.resize(text.size() - sizeof hash);
  if (fingerprint_of(bytes_of(text)) != hash) fail_damaged(path, "its checksum is wrong");
  ByteReader in(std::string_view(text).substr(kMagic.size()), path);
  Head head;
  head.id = in.get_text();
  if (!is_id(head.id)) in.fail();
  head.files = in.get_list<std::array<std::uint64_t, 2>>();
  head.record = in.get_text();
  return head;
}

}  // namespace

// ---- reading ----

SavedRun::SavedRun(const std::string& folder) : folder_(folder) {
  Head head = read_head(folder);
  id_ = std::move(head.id);
  record_ = std::move(head.record);
  for (std::size_t k = 0; k < head.files.size(); ++k)
    read_table(static_cast<std::uint32_t>(k), head.files[k][0], head.files[k][1]);
  std::sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
    return std::tie(a.slot, a.first) < std::tie(b.slot, b.first);
  });
}

std::string SavedRun::path_of(std::uint32_t number) const {
  return folder_ + "/" + kPrefix + id_ + "/rank-" + std::to_string(number);
}

void SavedRun::read_table(std::uint32_t number, std::uint64_t size, std::uint64_t index_hash) {
  const std::string path = path_of(number);
  const InputFile file(path);
  if (!file.is_open())
    fail_damaged(path, std::string("it cannot be read: ") + std::strerror(errno));
  Footer footer;
  if (file.size() != size || size < sizeof footer ||
      !file.read_at(size - sizeof footer, &footer, sizeof footer))
    fail_damaged(path, "it has another size than was written");
  const std::uint64_t room = size - sizeof footer;
  if (footer.magic != kFooterMagic || footer.index_hash != index_hash ||
      footer.index_offset > room ||
      footer.num_slices != (room - footer.index_offset) / sizeof(Slice))
    fail_damaged(path, "its end is not what was written");
  std::vector<Slice> slices(footer.num_slices);
  if (!file.read_at(footer.index_offset, slices.data(), slices.size() * sizeof(Slice)) ||
      fingerprint_of(std::as_bytes(std::span(slices))) != index_hash)
    fail_damaged(path, "its table has a wrong checksum");
  for (Slice& s : slices) s.file = number;
  slices_.insert(slices_.end(), slices.begin(), slices.end());
}

void SavedRun::fill(std::uint32_t slot, std::size_t amplitude_bytes, std::uint64_t first,
                    std::span<std::byte> to) const {
  const std::uint64_t end = first + to.size() / amplitude_bytes;
  std::memset(to.data(), 0, to.size());  // what no slice holds is known to be zero
  auto s = std::upper_bound(
      slices_.begin(), slices_.end(), std::pair(slot, first),
      [](const auto& at, const Slice& slice) { return at < std::pair(slice.slot, slice.first); });
  if (s != slices_.begin()) --s;
  std::vector<std::byte> bytes;
  for (; s != slices_.end() && s->slot <= slot && (s->slot < slot || s->first < end); ++s) {
    if (s->slot < slot || s->first + s->count <= first) continue;
    bytes.resize(s->count * amplitude_bytes);
    // opened for every slice: there may be more files than a process may have open
    const std::string path = path_of(s->file);
    const InputFile file(path);
    if (!file.is_open() || !file.read_at(s->offset, bytes.data(), bytes.size()))
      fail_damaged(path, "it cannot be read");
    if (fingerprint_of(bytes) != s->hash) fail_damaged(path, "a slice of it has a wrong checksum");
    const std::uint64_t from = std::max(first, s->first),
                        until = std::min(end, s->first + s->count);
    std::memcpy(to.data() + (from - first) * amplitude_bytes,
                bytes.data() + (from - s->first) * amplitude_bytes,
                (until - from) * amplitude_bytes);
  }
}

void SavedRun::load(std::uint32_t slot, const statevec::Layout& layout, std::uint64_t known_zero,
                    State& state) const {
  const std::size_t each = statevec::amplitude_bytes(state.precision());
  state.load_physical(
      layout, known_zero, slice_bits(state),
      [&](std::uint64_t first, std::span<std::byte> to) { fill(slot, each, first, to); });
}

// ---- writing ----

void need_no_checkpoint(const std::string& folder, const std::string& output,
                        const std::string& flag) {
  if (folder.empty() || output.empty()) return;
  const fs::path path = real_path(output), within = real_path(folder);
  const auto [at, next] = std::mismatch(path.begin(), path.end(), within.begin(), within.end());
  if (next != within.end() || at == path.end()) return;
  const std::string name = at->string();
  const bool is_taken = name == kName || (name.starts_with(kPrefix) &&
                                          is_id(std::string_view(name).substr(sizeof kPrefix - 1)));
  if (!is_taken) return;
  fail(ExitCode::kUsage, flag, flag.empty() ? "" : " ", output, ": checkpoints in ", folder,
       " have this name (one would replace the other): name another file");
}

struct CheckpointFolder::Part {
  std::uint64_t size = 0, index_hash = 0;
  std::int32_t failed = 0, code = 0;  // an ExitCode
  char why[256] = "";

  void fail(ExitCode exit_code, const char* text) {
    failed = 1;
    code = static_cast<std::int32_t>(exit_code);
    std::snprintf(why, sizeof why, "%s", text);
  }
  // What f() throws.
  template <class F>
  void guard(F f) {
    try {
      f();
    } catch (const Error& e) {
      fail(e.code(), e.what());
    } catch (const std::bad_alloc&) {
      fail(ExitCode::kResources, "out of memory for a slice of the checkpoint");
    }
  }
};

CheckpointFolder::CheckpointFolder(std::string folder, std::shared_ptr<runtime::Ranks> processes,
                                   const SavedRun* resumed, Old old)
    : folder_(std::move(folder)), processes_(std::move(processes)) {
  Part part;
  if (is_root()) {
    part.guard([&] {
      lock();
      find_checkpoint(resumed, old);
    });
  }
  try {
    check_parts(gathered(part), "");
  } catch (...) {
    unlock();  // a constructor that throws has no destructor
    throw;
  }
  if (is_root()) remove_leftovers(id_);
  id_ = agreed(id_);
}

CheckpointFolder::~CheckpointFolder() { unlock(); }

void CheckpointFolder::unlock() noexcept {
  if (lock_ >= 0) ::close(lock_);
  lock_ = -1;
}

// The root's, on all processes.
std::string CheckpointFolder::agreed(const std::string& id) const {
  std::array<char, kIdSize> text{};  // zeros: none
  id.copy(text.data(), text.size());
  if (processes_) processes_->broadcast(text.data(), text.size(), 0);
  return {text.data(), text[0] ? text.size() : 0};
}

void CheckpointFolder::lock() {
  const auto fail = [&](int error) {
    throw Error(ExitCode::kResources,
                folder_ + ": cannot keep checkpoints there: " + std::strerror(error));
  };
  if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST) fail(errno);
  lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) fail(errno);
  // a run that was killed may hold it for a moment yet
  constexpr int kTries = 50;
  constexpr std::chrono::milliseconds kPause{100};
  int error = 0;
  for (int k = 0; k < kTries; ++k) {
    error = ::flock(lock_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error != EWOULDBLOCK) break;
    std::this_thread::sleep_for(kPause);
  }
  if (error == EWOULDBLOCK) {
    throw Error(ExitCode::kUsage,
                folder_ + ": another run keeps its checkpoints there: name another folder");
  }  // a file system without locks has none
  if (::faccessat(AT_FDCWD, folder_.c_str(), W_OK | X_OK, AT_EACCESS) != 0) fail(errno);
}

// Which checkpoint is there, now that nobody else can put another one into its place.
void CheckpointFolder::find_checkpoint(const SavedRun* resumed, Old old) {
  struct stat info {};
  if (::stat((folder_ + "/" + kName).c_str(), &info) != 0) return;
  try {
    id_ = read_head(folder_).id;
  } catch (const Error& e) {  // a damaged one is nobody's
    if (e.code() != ExitCode::kInput) throw;
  }
  if (old == Old::kReplaced || (resumed && resumed->id() == id_)) return;
  throw Error(ExitCode::kUsage,
              folder_ + ": a checkpoint of an earlier run is there: go on with it by --resume " +
                  folder_ + ", remove it, or name another folder");
}

std::string CheckpointFolder::folder_of(const std::string& id) const {
  return folder_ + "/" + kPrefix + id;
}

void CheckpointFolder::remove_leftovers(const std::string& kept) {
  std::error_code ignored;
  std::vector<fs::path> old;
  for (fs::directory_iterator entry(folder_, ignored), end; entry != end;
       entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string id = name.substr(sizeof kPrefix - 1);
    if (is_id(id) && id != kept) old.push_back(entry->path());
  }
  for (const fs::path& path : old) fs::remove_all(path, ignored);
}

std::vector<CheckpointFolder::Part> CheckpointFolder::gathered(const Part& mine) const {
  std::vector<Part> parts(processes_ ? static_cast<std::size_t>(processes_->size()) : 1);
  if (processes_) {
    processes_->gather(&mine, parts.data(), sizeof mine);
  } else {
    parts[0] = mine;
  }
  return parts;
}

void CheckpointFolder::check_parts(const std::vector<Part>& parts, const std::string& id) {
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (!parts[rank].failed) continue;
    if (is_root() && !id.empty()) {
      std::error_code ignored;
      fs::remove_all(folder_of(id), ignored);
    }
    throw Error(static_cast<ExitCode>(parts[rank].code),
                (rank ? "rank " + std::to_string(rank) + ": " : std::string()) + parts[rank].why);
  }
}

CheckpointFolder::Part CheckpointFolder::write_file(const std::string& id,
                                                    std::span<State* const> states) const {
  Part part;
  const int rank = processes_ ? processes_->rank() : 0;
  part.guard([&] {
    WholeFile file(folder_of(id) + "/rank-" + std::to_string(rank));
    std::vector<Slice> slices;
    std::uint64_t offset = 0;
    const auto append = [&](std::span<const std::byte> bytes) {
      const auto done = runtime::write_pieces(
          file.descriptor(), offset, reinterpret_cast<const char*>(bytes.data()), bytes.size());
      if (done.error) file.fail(done.error);
      offset += bytes.size();
    };
    for (std::size_t slot = 0; slot < states.size(); ++slot) {
      if (!states[slot]) continue;  // its few amplitudes are in the record
      State& state = *states[slot];
      const std::size_t each = statevec::amplitude_bytes(state.precision());
      state.save_physical(slice_bits(state),
                          [&](std::uint64_t first, std::span<const std::byte> bytes) {
                            // its file is known where it is read
                            slices.push_back({static_cast<std::uint32_t>(slot), 0, first,
                                              bytes.size() / each, offset, fingerprint_of(bytes)});
                            append(bytes);
                          });
    }
    Footer footer;
    footer.num_slices = slices.size();
    footer.index_offset = offset;
    footer.index_hash = fingerprint_of(std::as_bytes(std::span(slices)));
    append(std::as_bytes(std::span(slices)));
    append(std::as_bytes(std::span(&footer, 1)));
    part.size = offset;
    part.index_hash = footer.index_hash;
    file.commit(WholeFile::Sync::kYes);
  });
  return part;
}

// `is_named`: the new one has become the checkpoint, even where an error comes after.
CheckpointFolder::Part CheckpointFolder::commit(const std::string& id, const std::string& record,
                                                const std::vector<Part>& parts,
                                                bool& is_named) const {
  Part done;
  done.guard([&] {
    ByteWriter out;
    out.put_text(id);
    std::vector<std::array<std::uint64_t, 2>> sizes;
    for (const Part& part : parts) sizes.push_back({part.size, part.index_hash});
    out.put_list(sizes);
    out.put_text(record);
    std::string text(kMagic);
    text += out.bytes();
    const std::uint64_t hash = fingerprint_of(bytes_of(text));
    text.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    const std::string made = folder_of(id) + "/" + kNewName, name = folder_ + "/" + kName;
    WholeFile file(made);
    file.write(text);
    file.commit(WholeFile::Sync::kYes);
    int error = sync_folder(folder_of(id));
    if (!error) error = sync_folder(folder_);
    if (!error && std::rename(made.c_str(), name.c_str()) != 0) error = errno;
    is_named = !error;
    if (!error) error = sync_folder(folder_);
    if (error) file.fail(error);
  });
  return done;
}

void CheckpointFolder::write(const std::string& record, std::span<State* const> states) {
  Part made;
  std::string id;
  if (is_root()) {
    made.guard([&] {
      id = random_id();
      if (::mkdir(folder_of(id).c_str(), 0777) != 0) {
        throw Error(ExitCode::kResources,
                    folder_of(id) + ": cannot write the checkpoint: " + std::strerror(errno));
      }
    });
  }
  check_parts(gathered(made), "");
  id = agreed(id);
  const std::vector<Part> parts = gathered(write_file(id, states));
  check_parts(parts, id);
  Part committed;
  bool is_named = false;
  if (is_root()) committed = commit(id, record, parts, is_named);
  // what has the name is not taken away again, nor what has had it: either may be on the disk
  check_parts(gathered(committed), is_named ? "" : id);
  if (is_root() && !id_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_of(id_), ignored);
  }
  id_ = id;
}

void CheckpointFolder::remove() noexcept {
  if (!is_root() || id_.empty()) return;
  try {
    std::error_code ignored;
    fs::remove(folder_ + "/" + kName, ignored);  // first: without it there is no checkpoint
    fs::remove_all(folder_of(id_), ignored);
    id_.clear();
  } catch (...) {  // no memory: what stays is removed by the next run there
  }
}

}  // namespace tilewave::simulate
