module counters

go 1.13
