module going

go 1.16
