github.com/go-shiori/shiori@v1.6.0
