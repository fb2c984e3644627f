module unprofiled

go 1.15
