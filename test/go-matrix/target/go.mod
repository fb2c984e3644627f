module heaptarget

go 1.15
