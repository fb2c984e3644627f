module heapplugin

go 1.13
