// A table of the classes that the values of a raster stand for: land-cover codes, say.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tilewave::field {

struct ClassTable {
  std::map<double, int> index;  ///< of a value's class in `classes`; -1: no data
  std::vector<int> classes;     ///< the classes that occur, ascending
  /// The index of a class; -1 where it does not occur.
  int index_of(int a_class) const;
};

/// Reads lines "value,class" (class empty or "nodata": no data), fields in quotes or not; '#'
/// starts a comment, a first line of words is a header. Throws Error(kInput) with the line.
ClassTable read_class_table(const std::string& path);

}  // namespace tilewave::field
