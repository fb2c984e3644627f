module heaptarget

go 1.13
