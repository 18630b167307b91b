# Makes the shell that all pages share: libraries, scripts, style and licences in one HTML file with
# two places left to fill, as a C++ string; and the licences as a text file. Run by cmake -P.
#   OUTPUT   the C++ file: rowhouse::PageShell()
#   NOTICES  the text file
#   DYGRAPHS_JS, DYGRAPHS_CSS, CHART_JS, DYGRAPHS_LICENCE, CHART_LICENCE  what Debian installs
cmake_policy(VERSION 3.25)

set(PAGES ${CMAKE_CURRENT_LIST_DIR}/pages)

# A file's text without references to source maps: nothing of a page is fetched.
function(read_text FILE VARIABLE)
  file(READ ${FILE} text)
  string(REGEX REPLACE "/[/*][#@] sourceMappingURL=[^\n]*" "" text "${text}")
  set(${VARIABLE} "${text}" PARENT_SCOPE)
endfunction()

# What a content security policy calls the text: sha256- and base64 of its digest.
function(policy_hash TEXT VARIABLE)
  string(SHA256 hex "${TEXT}")
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  string(APPEND hex "00")  # To a multiple of three digits, each of them two letters.
  foreach(at RANGE 0 63 3)
    string(SUBSTRING ${hex} ${at} 3 digits)
    math(EXPR high "0x${digits} >> 6")
    math(EXPR low "0x${digits} & 63")
    string(SUBSTRING ${alphabet} ${high} 1 first)
    string(SUBSTRING ${alphabet} ${low} 1 second)
    string(APPEND base64 ${first}${second})
  endforeach()
  string(SUBSTRING ${base64} 0 43 base64)
  set(${VARIABLE} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

read_text(${DYGRAPHS_LICENCE} dygraphs_licence)
read_text(${CHART_LICENCE} chart_licence)
set(notices "Pages of runs contain two libraries, as Debian distributes them.

---- dygraphs ----

${dygraphs_licence}
---- Chart.js ----

${chart_licence}")
file(WRITE ${NOTICES} "${notices}")

set(scripts "")
set(hashes "")
foreach(file ${DYGRAPHS_JS} ${CHART_JS} ${PAGES}/page.js ${PAGES}/charts.js ${PAGES}/run.js
             ${PAGES}/comparison.js ${PAGES}/strategies.js ${PAGES}/lab.js ${PAGES}/scores.js
             ${PAGES}/start.js)
  read_text(${file} text)
  if(text MATCHES "</[sS][cC][rR][iI][pP][tT]|<!--")
    message(FATAL_ERROR "${file} holds </script or <!--, which would end it within a page")
  endif()
  policy_hash("${text}" hash)
  string(APPEND hashes " ${hash}")
  string(APPEND scripts "<script>${text}</script>\n")
endforeach()
read_text(${DYGRAPHS_CSS} dygraphs_style)
read_text(${PAGES}/page.css style)
string(REPLACE "&" "&amp;" notices_markup "${notices}")
string(REPLACE "<" "&lt;" notices_markup "${notices_markup}")

read_text(${PAGES}/page.html shell)
string(REPLACE "@SCRIPT_HASHES@" "${hashes}" shell "${shell}")
string(REPLACE "@STYLE@" "${dygraphs_style}\n${style}" shell "${shell}")
string(REPLACE "@NOTICES@" "${notices_markup}" shell "${shell}")
string(REPLACE "@SCRIPTS@" "${scripts}" shell "${shell}")

set(delimiter "ROWHOUSE_PAGE")
if(shell MATCHES "\\)${delimiter}\"")
  message(FATAL_ERROR "the shell of the pages holds )${delimiter}\", which would end its string")
endif()
file(WRITE ${OUTPUT} "// Made by launch/figures/embed_pages.cmake.
#include \"launch/figures/page.h\"

namespace rowhouse {

std::string_view PageShell() {
  return R\"${delimiter}(${shell})${delimiter}\";
}

}  // namespace rowhouse
")
