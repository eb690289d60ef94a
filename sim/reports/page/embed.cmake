# Writes page_template.cpp: cmake -D page_file=page.html -D output=page_template.cpp -P embed.cmake
file(READ ${page_file} page)
string(FIND "${page}" ")orrery_page\"" ends_early)
if(NOT ends_early EQUAL -1)
  message(FATAL_ERROR "${page_file}: holds the end of the C++ literal that it is put into")
endif()
set(absence "")
configure_file(${CMAKE_CURRENT_LIST_DIR}/page_template.cpp.in ${output} @ONLY)
