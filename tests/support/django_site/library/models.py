"""A small library: enough kinds of fields that the admin shows all its widgets."""

from django.db import models


class Author(models.Model):
    """Who wrote a book."""

    name = models.CharField(max_length=100)
    email = models.EmailField(blank=True)
    born = models.DateField(null=True, blank=True)
    biography = models.TextField(blank=True, help_text="A few sentences for the website.")

    def __str__(self) -> str:
        return self.name


class Tag(models.Model):
    """What a book is about."""

    label = models.CharField(max_length=40, unique=True)

    def __str__(self) -> str:
        return self.label


class Book(models.Model):
    """A title the library has."""

    FORMATS = [("h", "Hardcover"), ("p", "Paperback"), ("e", "E-book")]

    title = models.CharField(max_length=200)
    author = models.ForeignKey(Author, on_delete=models.CASCADE)
    tags = models.ManyToManyField(Tag, blank=True)
    book_format = models.CharField("format", max_length=1, choices=FORMATS, default="p")
    price = models.DecimalField(max_digits=6, decimal_places=2)
    pages = models.PositiveIntegerField(null=True, blank=True)
    published = models.DateTimeField(null=True, blank=True)
    in_stock = models.BooleanField(default=True)
    slug = models.SlugField(blank=True)

    class Meta:
        ordering = ["title"]

    def __str__(self) -> str:
        return self.title


class Copy(models.Model):
    """One copy on a shelf."""

    book = models.ForeignKey(Book, on_delete=models.CASCADE)
    shelf = models.CharField(max_length=20)
    condition = models.CharField(max_length=20, choices=[("new", "New"), ("worn", "Worn")], default="new")

    class Meta:
        verbose_name_plural = "copies"

    def __str__(self) -> str:
        return f"{self.book} on {self.shelf}"
