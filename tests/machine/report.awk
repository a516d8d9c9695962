# Shows what `cargo test` says in a line a test program, and keeps failures for the end: in the file `failures` each failed test with all
# that it said, in `counts` how many passed, failed, were skipped and left out. `programs` is how many test programs there are.

function close_program(  line) {
  if (program == "") return
  line = program ": " passed " passed"
  if (ignored) line = line ", " ignored " left out"
  if (failed) line = line ", " failed " FAILED"
  # With a name asked for most programs have no such test.
  if (passed + failed) print line (seconds == "" ? "" : " in " seconds " s")
  fflush()
  all_passed += passed
  all_failed += failed
  all_ignored += ignored
  program = ""
}

/^ +(Running|Doc-tests) / {
  close_program()
  program = $0
  sub(/^ +(Running|Doc-tests) (unittests )?/, "", program)
  if (match(program, /\(.*\)/)) {
    file = substr(program, RSTART + 1, RLENGTH - 2)
    sub(/.*\//, "", file)
    sub(/-[0-9a-f]+$/, "", file)
    sub(/ \(.*/, "", program)
    program = "[" ++at " of " programs "] " file " (" program ")"
  } else program = "documentation of " program
  passed = failed = ignored = results = in_failure = 0
  seconds = ""
  next
}

# A child of a test may have left text before it on the line. Documentation can have two.
/test result: (ok|FAILED)\. [0-9]+ passed; / {
  sub(/^.*test result: /, "test result: ")
  passed += $4; failed += $6; ignored += $8
  results++
  if (match($0, /finished in [0-9.]+s/)) seconds = substr($0, RSTART + 12, RLENGTH - 13)
  in_failure = 0
  next
}
# It ended without a result, or badly behind one.
/^error: test failed/ || /^error: doctest failed/ {
  in_failure = 0
  if (!results) { print program ": it ended without a result" > failures; failed++ }
  next
}
/^ +process didn't exit successfully/ {
  print program ": " $0 > failures
  if (!failed) failed++
  next
}
/^error: [0-9]+ targets? failed/ { next }

/^---- .* stdout ----$/ {
  in_failure = 1
  name = $0
  sub(/^---- /, "", name)
  sub(/ stdout ----$/, "", name)
  print program ": " name > failures
  next
}
in_failure { if (NF) print "    " $0 > failures; next }

/skipped: / {
  skipped++
  reason = $0
  sub(/^.*skipped: /, "", reason)
  if (match(reason, /: no .*/)) reason = substr(reason, RSTART + 2)
  if (reason ~ /conformance data/) reason = reason " (a folder `shared` beside the project, or VP_SHARED)"
  reasons[reason]++
  next
}

END {
  close_program()
  for (reason in reasons) print reasons[reason] " skipped: " reason
  print all_passed + 0, all_failed + 0, skipped + 0, all_ignored + 0 > counts
}
