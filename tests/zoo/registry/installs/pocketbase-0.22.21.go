github.com/pocketbase/pocketbase/examples/base@v0.22.21
