module workload

go 1.21
