module goroutineplugin

go 1.13
