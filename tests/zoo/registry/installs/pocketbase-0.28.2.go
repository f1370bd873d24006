github.com/pocketbase/pocketbase/examples/base@v0.28.2
