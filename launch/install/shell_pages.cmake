# Man pages and bash completion, made by the program itself from the entries of its settings:
#   cmake -D ROWHOUSE=bin/rowhouse -D OUT=DIRECTORY [-D HELP2MAN=help2man] -P shell_pages.cmake
# Makes OUT/completion/rowhouse and, with help2man, OUT/man/rowhouse.1 and a page for each verb.
function(run OUTPUT)
  execute_process(COMMAND ${ARGN} OUTPUT_FILE ${OUTPUT} RESULT_VARIABLE FAILED)
  if(FAILED)
    message(FATAL_ERROR "${ARGN}: ${FAILED}")
  endif()
endfunction()

file(MAKE_DIRECTORY ${OUT}/completion)
run(${OUT}/completion/rowhouse ${ROWHOUSE} completion bash)
if(NOT HELP2MAN)
  return()
endif()

file(MAKE_DIRECTORY ${OUT}/man)
run(${OUT}/man/rowhouse.1 ${HELP2MAN} --no-info
    "--name=parameter server for DLRM models larger than memory" ${ROWHOUSE})
foreach(VERB train ps bench ckpt compare plan)
  set(PAGE ${OUT}/man/rowhouse-${VERB}.1)
  run(${PAGE} ${HELP2MAN} --no-info "--name=NAME" --help-option=--help=all "${ROWHOUSE} ${VERB}")
  # help2man takes the first word for the name.
  file(READ ${PAGE} TEXT)
  string(REPLACE "rowhouse \\- NAME" "rowhouse-${VERB} \\- the verb ${VERB} of rowhouse" TEXT "${TEXT}")
  string(TOUPPER ${VERB} TITLE)
  string(REPLACE ".TH ROWHOUSE " ".TH ROWHOUSE-${TITLE} " TEXT "${TEXT}")
  file(WRITE ${PAGE} "${TEXT}")
endforeach()
