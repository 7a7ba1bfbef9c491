module lab_go

go 1.21
