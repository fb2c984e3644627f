module sqlclient

go 1.24.1
