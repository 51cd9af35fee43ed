# Writes FILES (separated by |, relative to ROOT) as a C++ array of {name, text} to OUT.
string(REPLACE "|" ";" FILES "${FILES}")
set(text "")
foreach(file ${FILES})
  file(READ "${ROOT}/${file}" content)
  string(APPEND text "{\"${file}\", R\"embedded(${content})embedded\"},\n")
endforeach()
file(WRITE "${OUT}" "${text}")
