module target

go 1.18
