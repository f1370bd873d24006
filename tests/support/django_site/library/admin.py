"""The admin of the library."""

from django.contrib import admin

from library.models import Author, Book, Copy, Tag


class CopyInline(admin.TabularInline):
    """Copies below their book."""

    model = Copy
    extra = 1


@admin.register(Author)
class AuthorAdmin(admin.ModelAdmin):
    """Authors with a search and dates."""

    list_display = ["name", "email", "born"]
    search_fields = ["name"]
    date_hierarchy = "born"


@admin.register(Book)
class BookAdmin(admin.ModelAdmin):
    """Books with filters, an editable column, sections and copies."""

    list_display = ["title", "author", "book_format", "price", "in_stock"]
    list_editable = ["price"]
    list_filter = ["book_format", "in_stock"]
    search_fields = ["title"]
    filter_horizontal = ["tags"]
    radio_fields = {"book_format": admin.HORIZONTAL}
    prepopulated_fields = {"slug": ["title"]}
    inlines = [CopyInline]
    fieldsets = [
        (None, {"fields": ["title", "slug", "author", "tags"]}),
        ("Details", {"fields": ["book_format", "price", "pages", "published"]}),
        ("Availability", {"fields": ["in_stock"], "classes": ["collapse"]}),
    ]


admin.site.register(Tag)
