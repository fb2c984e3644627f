module unprofiled

go 1.13
