//go:build !cgo

package main

func fromC(x int) int { return x }
