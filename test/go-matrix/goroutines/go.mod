module goroutine_target

go 1.18
