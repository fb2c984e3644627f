//go:build plugins
// +build plugins

package main

import (
	"os"
	"plugin"
)

func init() {
	p, err := plugin.Open(os.Args[2])
	if err != nil {
		panic(err)
	}
	allocate, err := p.Lookup("Allocate")
	if err != nil {
		panic(err)
	}
	beforeWork = allocate.(func())
}
