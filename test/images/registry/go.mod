module registry

go 1.18

require github.com/google/go-containerregistry v0.20.2
