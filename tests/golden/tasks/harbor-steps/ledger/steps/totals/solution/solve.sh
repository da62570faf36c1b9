#!/bin/bash
awk -F, 'NR > 1 { sum[$1] += $2 } END { for (name in sum) print name "," sum[name] }' data/orders.csv | sort > totals.csv
