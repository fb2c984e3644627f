//go:build bare
// +build bare

package main

func serve() string { return "-" }
