//go:build !cgo
// +build !cgo

package main

func extra() []func() { return nil }
