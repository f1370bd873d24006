github.com/go-shiori/shiori@v1.7.0
