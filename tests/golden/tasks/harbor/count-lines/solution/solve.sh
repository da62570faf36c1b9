#!/bin/bash
wc -l < data/poem.txt > count.txt
