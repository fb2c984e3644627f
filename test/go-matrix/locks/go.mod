module locktarget

go 1.15
