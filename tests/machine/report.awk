# Shows what `cargo test` and pytest say in a line a test program, and keeps failures for the end: of the file `failures` each failed test
# with all that it said, of `counts` a line "passed failed skipped". `programs` is how many test programs there are.

function close_program(  took) {
  if (program == "") return
  took = seconds == "" ? "" : " in " seconds
  line = sprintf("%s: %d passed", program, passed)
  if (ignored) line = line ", " ignored " left out"
  if (failed) line = line ", " failed " FAILED"
  # With a name asked for most programs have no such test.
  if (passed + failed) print line took
  fflush()
  all_passed += passed
  all_failed += failed
  program = ""
}

# A program begins.
/^ +(Running|Doc-tests) / {
  close_program()
  program = $0
  sub(/^ +(Running|Doc-tests) (unittests )?/, "", program)
  path = program
  if (match(path, /\(.*\)/)) {
    file = substr(path, RSTART + 1, RLENGTH - 2)
    sub(/.*\//, "", file)
    sub(/-[0-9a-f]+$/, "", file)
    sub(/ \(.*/, "", program)
    program = "[" ++at " of " programs "] " file " (" program ")"
  } else program = "documentation of " program
  passed = failed = ignored = 0
  seconds = ""
  next
}

# A program ends.
/^test result: / {
  passed = $4; failed = $6; ignored = $8
  if (match($0, /finished in [0-9.]+s/)) { seconds = substr($0, RSTART + 12, RLENGTH - 13) " s" }
  in_failure = 0
  next
}
# It ended without: it was killed.
/^ +process didn't exit successfully/ {
  if (seconds == "") { print program ": " $0 > failures; failed++ }
  next
}
/^error: test failed/ || /^error: [0-9]+ targets? failed/ || /^error: doctest failed/ { next }

/^---- .* stdout ----$/ { in_failure = 1; print program ": " $2 > failures; next }
/^failures:$/ { in_failure = 0; next }
in_failure { if (NF) print "    " $0 > failures; next }

/skipped: / {
  skipped++
  reason = $0
  sub(/^.*skipped: /, "", reason)
  # What is missing stands behind the last "no".
  if (match(reason, /: no .*/)) reason = substr(reason, RSTART + 2)
  reasons[reason]++
  next
}

# What does not compile is seen.
/^(error|warning)(\[|:)/ { print; next }

END {
  close_program()
  for (reason in reasons) print reasons[reason] " skipped: " reason
  print all_passed + 0, all_failed + 0, skipped + 0 > counts
}
