#!/bin/bash
. "$TESTS_DIR/same.sh"
[ "$(has totals.csv "anna,$TOTAL_ANNA")$(has totals.csv bert,5)" = 11 ]
echo $((1 - $?)) > "$LOGS_DIR/reward.txt"
