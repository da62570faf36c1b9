#!/bin/bash
echo 7 > sum.txt; echo 3 > rows.txt
