// Bytes: shots, arrays, images, circuits of other processes, checkpoints, messages of ranks.
#include "target.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "tilewave/base/error.h"
#include "tilewave/base/fingerprint.h"
#include "tilewave/field/class_table.h"
#include "tilewave/formats/circuit_bytes.h"
#include "tilewave/formats/npy/npy.h"
#include "tilewave/formats/raster/file.h"
#include "tilewave/formats/raster/raster.h"
#include "tilewave/formats/shots/shots.h"
#include "tilewave/runtime/tcp_meeting.h"
#include "tilewave/simulate/checkpoint/folder.h"
#include "tilewave/simulate/checkpoint/plan_bytes.h"
#include "tilewave/simulate/checkpoint/saved_register.h"
#include "tilewave/simulate/row_counts.h"
#include "tilewave/simulate/saved_walk.h"

namespace tilewave::fuzz {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The first bytes say which shots they are; those that were read are written and read again.
void shots(Bytes bytes) {
  Draw draw(bytes);
  constexpr formats::ShotFormat kFormats[] = {
      formats::ShotFormat::k01,    formats::ShotFormat::kB8,   formats::ShotFormat::kR8,
      formats::ShotFormat::kPtb64, formats::ShotFormat::kHits, formats::ShotFormat::kDets,
      formats::ShotFormat::kSparse};
  const formats::ShotFormat format = kFormats[draw.below(std::size(kFormats))];
  formats::ShotLayout layout;
  layout.measurements = draw.below(70);
  layout.detectors = draw.below(70);
  layout.observables = draw.below(9);
  draw.byte();  // observables in front are written, never read
  const auto read_all = [&](Bytes from) {
    std::vector<std::uint8_t> rows;
    if (from.empty()) return rows;
    std::FILE* file = ::fmemopen(const_cast<std::uint8_t*>(from.data()), from.size(), "rb");
    try {
      formats::ShotReader reader(file, "fuzz", format, layout);
      for (std::size_t total = 0, n = 1; n > 0 && total < 100000; total += n)
        n = reader.read(1024, rows);
    } catch (...) {
      std::fclose(file);
      throw;
    }
    std::fclose(file);
    return rows;
  };
  std::vector<std::uint8_t> rows = read_all(draw.rest());
  if (layout.bits() == 0 || rows.empty()) return;
  const std::size_t stride = layout.bytes();
  if (rows.size() % stride) found("half a shot");
  std::size_t count = rows.size() / stride;
  if (format == formats::ShotFormat::kPtb64) count -= count % 64;
  formats::pack_rows(rows.data(), stride, count, layout);  // b8 may have more bits than the shot
  formats::ByteBuffer out;
  formats::ShotFormatter(format, layout).append(rows.data(), stride, count, out);
  const auto written = out.bytes();
  const Bytes again(reinterpret_cast<const std::uint8_t*>(written.data()), written.size());
  rows.resize(count * stride);
  if (read_all(again) != rows) found("shots that read back as others");
}

void npy(Bytes bytes) {
  const NamelessFile file(bytes);
  formats::NpyReader reader(file.path());
  std::vector<std::byte> part(std::min<std::uint64_t>(reader.header().num_bytes(), 4096) /
                              formats::npy_element_bytes(reader.header().type) *
                              formats::npy_element_bytes(reader.header().type));
  reader.read_at(0, part);
  reader.read(part);
}

constexpr std::int64_t kMostRows = 300;

// All rows of an image that is not large; false where some are left.
bool read_rows(formats::RasterReader& reader) {
  const formats::RasterInfo& info = reader.info();
  const std::int64_t bytes = info.row_bytes();
  if (bytes <= 0 || bytes > (1 << 20)) return false;
  std::vector<std::byte> row(static_cast<std::size_t>(bytes));
  for (std::int64_t y = 0; y < std::min(info.height, kMostRows); ++y) {
    reader.read_rows(row.data(), 1);
    if (info.masked && !reader.valid()) found("a mask that is not there");
  }
  return info.height <= kMostRows;
}

template <auto open>
void image(Bytes bytes) {
  const NamelessFile file(bytes);
  read_rows(*open(file.path()));
}

void study(Bytes bytes) {
  const NamelessFile file(bytes);
  formats::StudyReader reader(file.path());
  for (int k = 0; k < 20; ++k) {
    const auto record = reader.next();
    if (!record || !read_rows(*record)) break;
  }
}

void raw(Bytes bytes) {
  Draw draw(bytes);
  formats::RasterInfo info;
  info.width = static_cast<std::int64_t>(draw.below(300));
  info.height = static_cast<std::int64_t>(draw.below(300));
  info.channels = static_cast<int>(draw.below(5));
  info.type = static_cast<formats::SampleType>(draw.below(11));
  const NamelessFile file(draw.rest());
  read_rows(*formats::detail::open_raw(file.path(), info));
}

void classes(Bytes bytes) {
  const NamelessFile file(bytes);
  field::read_class_table(file.path());
}

void circuit_bytes(Bytes bytes) {
  const circuit::Circuit c = formats::circuit_from_bytes(text_of(bytes));
  if (!formats::has_same_operations(c, formats::circuit_from_bytes(formats::circuit_to_bytes(c))))
    found("a circuit that is another one after it was bytes");
}

// The record of a checkpoint behind its checksum.
void record(Bytes bytes) {
  simulate::ByteReader in(text_of(bytes), "fuzz");
  simulate::get_header(in);
  simulate::get_walk(in);
}

// The counts of a run of the stabilizer engine.
void row_counts(Bytes bytes) {
  simulate::ByteReader in(text_of(bytes), "fuzz");
  simulate::RowCounts counts(5);
  counts.load(in);
  simulate::ByteWriter out;
  counts.save(out);
  simulate::ByteReader again(out.bytes(), "fuzz");
  simulate::RowCounts same(5);
  same.load(again);
  if (same.counts() != counts.counts()) found("counts that are others after they were bytes");
}

// A folder whose file `checkpoint` has a right checksum, and whatever else the bytes say.
void checkpoint(Bytes bytes) {
  char folder[] = "/tmp/tilewave_fuzz_XXXXXX";
  if (!::mkdtemp(folder)) std::abort();
  std::string text(text_of(bytes));
  text.insert(0, "tilewave checkpoint 2\n");
  const std::uint64_t hash = fingerprint_of(std::as_bytes(std::span(text.data(), text.size())));
  text.append(reinterpret_cast<const char*>(&hash), sizeof hash);
  std::ofstream(std::string(folder) + "/checkpoint", std::ios::binary) << text;
  try {
    const simulate::SavedRun saved(folder);
    const simulate::SavedRegister reg(folder);
  } catch (...) {
    std::filesystem::remove_all(folder);
    throw;
  }
  std::filesystem::remove_all(folder);
}

// What a stranger says at the door, and what members say to each other.
void meeting(Bytes bytes) {
  runtime::Member member;
  std::memcpy(static_cast<void*>(&member), bytes.data(), std::min(bytes.size(), sizeof member));
  if (member.is_sound(member.key) && member.name().size() > 400) found("a name without an end");
  runtime::Word word;
  std::memcpy(static_cast<void*>(&word), bytes.data(), std::min(bytes.size(), sizeof word));
  if (word.is_sound(word.key) && std::string(word.text.data()).size() >= word.text.size())
    found("a text without an end");
  static const runtime::Socket door = runtime::Socket::listen("127.0.0.1", 0);
  static runtime::Guests guests(door, 5);
  {
    std::string problem;
    const runtime::Socket guest = runtime::Socket::connect("127.0.0.1", door.port(), 1, &problem);
    if (guest.is_open()) guest.send_all(bytes.data(), bytes.size(), 1);
  }
  runtime::Member who;
  const runtime::Socket came = guests.next(0.002, who);
  if (came.is_open() && !who.is_sound(5)) found("a stranger who was let in");
}

constexpr Target kTargets[] = {
    {"shots", shots},
    {"npy", npy},
    {"npy_image", image<formats::detail::open_npy>},
    {"png", image<formats::detail::open_png>},
    {"tiff", image<formats::detail::open_tiff>},
    {"pgm", image<formats::detail::open_pgm>},
    {"raw", raw},
    {"study", study},
    {"classes", classes},
    {"circuit_bytes", circuit_bytes},
    {"record", record},
    {"checkpoint", checkpoint},
    {"row_counts", row_counts},
    {"meeting", meeting},
};

}  // namespace

std::span<const Target> file_targets() { return kTargets; }

}  // namespace tilewave::fuzz
