module lockcost

go 1.18
