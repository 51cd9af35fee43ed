// TIFF handles and tags: see tiff.h. The tags that carry a georeference are copied as they
// are, so a map stays in its place without a geographic library.
#include "tilewave/formats/raster/tiff.h"

#include <fcntl.h>
#include <tiffio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <iterator>
#include <mutex>
#include <new>

#include "tilewave/base/read_double.h"

namespace tilewave::formats {
namespace detail {
namespace {

constexpr std::uint32_t kMetadataTag = 42112, kNodataTag = 42113;

// Tags of a georeference (pixel scale, tie points, transformation, keys, coefficients of a rational
// polynomial), metadata and the no-data value, which the library does not know.
const TIFFFieldInfo kGeoFields[] = {
    {33550, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelPixelScale")},
    {33922, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelTiepoint")},
    {34264, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("ModelTransformation")},
    {34735, -1, -1, TIFF_SHORT, FIELD_CUSTOM, 1, 1, const_cast<char*>("GeoKeyDirectory")},
    {34736, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("GeoDoubleParams")},
    {34737, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("GeoAsciiParams")},
    {50844, -1, -1, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, const_cast<char*>("RPCCoefficient")},
    {kMetadataTag, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("RasterMetadata")},
    {kNodataTag, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, const_cast<char*>("RasterNodata")},
};

// What the library knows and the output keeps. Pixels are written as they lie in the file, so they
// need the orientation that they had.
struct KnownTag {
  std::uint32_t tag;
  TIFFDataType type;  // text, a float or a 16-bit integer
};
constexpr KnownTag kKnownTags[] = {
    {TIFFTAG_DOCUMENTNAME, TIFF_ASCII}, {TIFFTAG_IMAGEDESCRIPTION, TIFF_ASCII},
    {TIFFTAG_MAKE, TIFF_ASCII},         {TIFFTAG_MODEL, TIFF_ASCII},
    {TIFFTAG_SOFTWARE, TIFF_ASCII},     {TIFFTAG_DATETIME, TIFF_ASCII},
    {TIFFTAG_ARTIST, TIFF_ASCII},       {TIFFTAG_HOSTCOMPUTER, TIFF_ASCII},
    {TIFFTAG_COPYRIGHT, TIFF_ASCII},    {TIFFTAG_XRESOLUTION, TIFF_FLOAT},
    {TIFFTAG_YRESOLUTION, TIFF_FLOAT},  {TIFFTAG_RESOLUTIONUNIT, TIFF_SHORT},
    {TIFFTAG_ORIENTATION, TIFF_SHORT},
};

const KnownTag* find_known(std::uint32_t tag) {
  const auto* const end = std::end(kKnownTags);
  const auto* const row =
      std::find_if(std::begin(kKnownTags), end, [&](const KnownTag& k) { return k.tag == tag; });
  return row == end ? nullptr : row;
}

// libtiff asks every new file for extra tags through one process-wide hook; ours passes on to the
// one before.
TIFFExtendProc previous_extender = nullptr;
void add_geo_fields(TIFF* tiff) {
  TIFFMergeFieldInfo(tiff, kGeoFields, sizeof kGeoFields / sizeof kGeoFields[0]);
  if (previous_extender != nullptr) previous_extender(tiff);
}
void register_geo_fields() {
  static std::once_flag once;
  std::call_once(once, [] { previous_extender = TIFFSetTagExtender(add_geo_fields); });
}

int keep_message(TIFF*, void* report, const char*, const char* format, std::va_list arguments) {
  auto& kept = *static_cast<TiffReport*>(report);
  kept.error = errno;
  char text[300];
  std::vsnprintf(text, sizeof text, format, arguments);
  kept.message = text;
  return 1;
}
int drop_message(TIFF*, void*, const char*, const char*, std::va_list) { return 1; }

// ---- metadata ----
// GDAL's is a list of <Item name="..." sample="...">value</Item>, the sample being the band an item
// belongs to. Those tell of values: statistics, scale, offset, unit, the band's name.
std::string attribute(const std::string& start, const std::string& name) {
  for (std::size_t at = start.find(name + "="); at != std::string::npos;
       at = start.find(name + "=", at + 1)) {
    const std::size_t quote = at + name.size() + 1;
    if (std::isspace(static_cast<unsigned char>(start[at - 1])) == 0 || quote >= start.size())
      continue;
    const std::size_t end = start.find(start[quote], quote + 1);
    if (end != std::string::npos) return start.substr(quote + 1, end - quote - 1);
  }
  return "";
}

bool tells_of_values(const std::string& start) {
  const std::string name = attribute(start, "name");
  return !attribute(start, "sample").empty() || name.starts_with("STATISTICS_") ||
         name == "NODATA_VALUES";
}

// The end of the item that begins at `at` ("<Item"), with what it holds; npos where it has none.
std::size_t end_of_item(const std::string& xml, std::size_t at) {
  int depth = 0;
  while (true) {
    const std::size_t close = xml.find('>', at);
    if (close == std::string::npos) return close;
    const bool leaves = xml.compare(at, 7, "</Item>") == 0;
    const bool is_empty = xml[close - 1] == '/';
    depth += leaves ? -1 : is_empty ? 0 : 1;
    if (depth == 0) return close + 1;
    const std::size_t next = std::min(xml.find("<Item", close), xml.find("</Item>", close));
    if (next == std::string::npos) return next;
    at = next;
  }
}

// Without the items that tell of values; "" where none is left, or the list is broken.
std::string without_values(const std::string& xml) {
  std::string kept;
  bool any = false;
  std::size_t from = 0;
  for (std::size_t at = xml.find("<Item"); at != std::string::npos; at = xml.find("<Item", from)) {
    const std::size_t end = end_of_item(xml, at);
    if (end == std::string::npos) return "";
    kept += xml.substr(from, at - from);
    if (!tells_of_values(xml.substr(at, xml.find('>', at) - at))) {
      kept += xml.substr(at, end - at);
      any = true;
    }
    from = end;
  }
  return any ? kept + xml.substr(from) : "";
}

// Descriptions by which ImageJ, tifffile and programs that read OME's find their images and
// channels: the output has one.
bool tells_of_layout(const std::string& description) {
  return description.starts_with("ImageJ=") || description.starts_with("{\"shape\":") ||
         description.find("<OME") != std::string::npos;
}

}  // namespace

void CloseTiff::operator()(TIFF* handle) const { TIFFClose(handle); }

TiffHandle open_tiff_handle(const std::string& path, const char* mode, TiffReport* report,
                            int descriptor) {
  register_geo_fields();
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetErrorHandlerExtR(options, keep_message, report);
  TIFFOpenOptionsSetWarningHandlerExtR(options, drop_message, nullptr);
  const int copy = descriptor < 0 ? -1 : ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  TiffHandle tiff;
  if (descriptor < 0) tiff.reset(TIFFOpenExt(path.c_str(), mode, options));
  if (copy >= 0) tiff.reset(TIFFFdOpenExt(copy, path.c_str(), mode, options));
  if (copy >= 0 && !tiff) ::close(copy);
  TIFFOpenOptionsFree(options);
  return tiff;
}

void read_tags(TIFF* handle, RasterInfo& info) {
  for (const TIFFFieldInfo& field : kGeoFields) {
    RasterTag tag;
    tag.tag = field.field_tag;
    if (field.field_type == TIFF_ASCII) {
      const char* text = nullptr;
      if (TIFFGetField(handle, field.field_tag, &text) != 1 || text == nullptr) continue;
      tag.text = text;
      if (tag.tag == kNodataTag) {
        std::string_view word = tag.text;
        while (!word.empty() && std::isspace(static_cast<unsigned char>(word[0])) != 0)
          word.remove_prefix(1);
        if (const ReadNumber number = read_signed_double(word); number.size > 0)
          info.nodata = number.value;
      }
    } else {
      std::uint16_t count = 0;
      const void* data = nullptr;
      if (TIFFGetField(handle, field.field_tag, &count, &data) != 1 || data == nullptr) continue;
      for (int k = 0; k < count; ++k) {
        tag.numbers.push_back(field.field_type == TIFF_DOUBLE
                                  ? static_cast<const double*>(data)[k]
                                  : static_cast<const std::uint16_t*>(data)[k]);
      }
    }
    info.tags.push_back(std::move(tag));
  }
  for (const KnownTag& known : kKnownTags) {
    const char* text = nullptr;
    float real = 0;
    std::uint16_t whole = 0;
    if (known.type == TIFF_ASCII) {
      if (TIFFGetField(handle, known.tag, &text) == 1 && text != nullptr)
        info.tags.push_back({known.tag, {}, text});
    } else if (known.type == TIFF_FLOAT) {
      if (TIFFGetField(handle, known.tag, &real) == 1)
        info.tags.push_back({known.tag, {static_cast<double>(real)}, ""});
    } else if (TIFFGetField(handle, known.tag, &whole) == 1) {
      info.tags.push_back({known.tag, {static_cast<double>(whole)}, ""});
    }
  }
}

void write_tags(TIFF* handle, const RasterInfo& info) {
  for (const RasterTag& tag : info.tags) {
    const KnownTag* const known = find_known(tag.tag);
    if (!tag.text.empty()) {
      TIFFSetField(handle, tag.tag, tag.text.c_str());
    } else if (tag.numbers.empty()) {
      continue;
    } else if (known != nullptr && known->type == TIFF_FLOAT) {
      TIFFSetField(handle, tag.tag, tag.numbers[0]);
    } else if (known != nullptr) {
      TIFFSetField(handle, tag.tag, static_cast<int>(tag.numbers[0]));
    } else if (tag.tag == 34735) {
      std::vector<std::uint16_t> keys(tag.numbers.begin(), tag.numbers.end());
      TIFFSetField(handle, tag.tag, static_cast<int>(keys.size()), keys.data());
    } else {
      TIFFSetField(handle, tag.tag, static_cast<int>(tag.numbers.size()), tag.numbers.data());
    }
  }
}

}  // namespace detail

void describe_new_values(RasterInfo& info, const std::string& nodata) {
  const bool lies_somewhere =
      std::any_of(info.tags.begin(), info.tags.end(),
                  [](const RasterTag& tag) { return detail::find_known(tag.tag) == nullptr; });
  const bool declares = info.nodata || info.masked || lies_somewhere;
  std::erase_if(info.tags, [](const RasterTag& tag) { return tag.tag == detail::kNodataTag; });
  for (RasterTag& tag : info.tags) {
    if (tag.tag == detail::kMetadataTag) tag.text = detail::without_values(tag.text);
    if (tag.tag == TIFFTAG_IMAGEDESCRIPTION && detail::tells_of_layout(tag.text)) tag.text.clear();
  }
  std::erase_if(info.tags,
                [](const RasterTag& tag) { return tag.text.empty() && tag.numbers.empty(); });
  info.nodata.reset();
  info.masked = false;
  info.alpha = -1;
  if (declares && !nodata.empty()) info.tags.push_back({detail::kNodataTag, {}, nodata});
}

}  // namespace tilewave::formats
