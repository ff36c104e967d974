// The design's sources, read with -F by Verilator and by the synthesis front end.
// Packages in order of use; a module is found in the folders by its file's name.
pkg/gyre_pkg.sv
pkg/gyre_dma_pkg.sv
csr/generated/gyre_csr_pkg.sv
-y common
-y csr
-y csr/generated
-y dma
-y router
-y link
-y collective
-y node
-y fabric
+libext+.sv
