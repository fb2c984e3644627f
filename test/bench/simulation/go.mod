module simulation

go 1.21
