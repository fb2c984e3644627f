//go:build plugins
// +build plugins

package main

import (
	"os"
	"plugin"
)

func init() {
	p, err := plugin.Open(os.Getenv("GOROUTINE_PLUGIN"))
	if err != nil {
		panic(err)
	}
	kinds, err := p.Lookup("Kinds")
	if err != nil {
		panic(err)
	}
	fromPlugin = kinds.(func(func()) []func())
}
