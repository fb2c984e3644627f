module goservice

go 1.18
