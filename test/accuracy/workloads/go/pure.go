//go:build !cgo

package main

func accMore() {}
