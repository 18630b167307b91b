# Writes OUT, a source that says which commit of SOURCE is built, with -dirty where files that git
# knows were changed. Run at each build; OUT is touched only when that changes, so that a commit
# rebuilds one small file.
set(commit "")
find_program(git git)
if(git AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${git} -C ${SOURCE} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} --no-optional-locks -C ${SOURCE} status --porcelain --untracked-files=no
                  OUTPUT_VARIABLE changes ERROR_QUIET)
  if(commit AND NOT changes STREQUAL "")
    string(APPEND commit -dirty)
  endif()
endif()
file(WRITE ${OUT}.new "#include \"launch/command_line/version.h\"\n\nconst char* const rowhouse::kCommit = \"${commit}\";\n")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUT}.new)
