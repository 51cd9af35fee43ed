// Titles and texts come from files: whatever their bytes, the drawing is XML.

#include "tilewave/stabilizer/diagram/svg.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tilewave::stabilizer {
namespace {

TEST(Svg, holdsWhatXmlHasAPlaceFor) {
  const std::string none = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> texts[] = {
      {"a<b>&\"c\"", "a&lt;b&gt;&amp;&quot;c&quot;"},
      {"one\ntwo\x01\x1F", "one\ntwo  "},
      {"\xC3\xA9 \xE6\xBC\xA2 \xF0\x9F\x98\x80 \xEF\xBF\xBD",
       "\xC3\xA9 \xE6\xBC\xA2 \xF0\x9F\x98\x80 \xEF\xBF\xBD"},
      {"\xEF\xBF\xBE", none + none + none},                        // U+FFFE is no character
      {"\xED\xA0\x80", none + none + none},                        // half of a pair of UTF-16
      {"caf\xE9 x", "caf" + none + " x"},                          // Latin-1
      {"\xC0\xAF\xE0\x80\xAF", none + none + none + none + none},  // longer than need be
      {"\xF4\x90\x80\x80", none + none + none + none},
      {"cut \xE6\xBC", "cut " + none + none},
  };
  for (const auto& [given, held] : texts) {
    Svg svg;
    svg.text({1, 2}, given, 10, "black", TextAnchor::kStart, given);
    const std::string drawn = svg.finish(10, 10);
    EXPECT_NE(drawn.find("<title>" + held + "</title>"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find(held + "</text>"), std::string::npos) << drawn;
  }
}

}  // namespace
}  // namespace tilewave::stabilizer
