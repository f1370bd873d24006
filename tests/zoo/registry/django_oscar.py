"""Oscar, a shop for Django: its dashboard is server-rendered, with Bootstrap, select2 and TinyMCE.

Licence: BSD. Version 4.2.1. Selects are replaced by boxes to search in, long texts by an editor in a frame; a product's
form has tabs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.django_projects import serve_project
from tests.zoo.registry.serving import LONG, PASSWORD, instances, read_rows
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("4.2.1",)
USER = "gardener"

_CATEGORIES = ("Watering", "Seeds", "Hand tools", "Pots")
_PRODUCTS = (
    ("Watering can of zinc", "Watering", "WA-01", "24.50", 12, "<p>Ten litres.</p>"),
    ("Garden hose", "Watering", "WA-02", "31.00", 7, "<p>Twenty metres, green.</p>"),
    ("Rain barrel", "Watering", "WA-03", "89.00", 3, ""),
    ("Sunflower seeds", "Seeds", "SE-01", "2.40", 140, "<p>Grow to three metres.</p>"),
    ("Sunflower seeds, dwarf", "Seeds", "SE-02", "2.60", 90, ""),
    ('Beans "Blue Lake"', "Seeds", "SE-03", "3.10", 60, "<p>Climbing beans.</p>"),
    ("Grandma's leek", "Seeds", "SE-04", "2.90", 45, ""),
    ("Žofie's 大根 radish", "Seeds", "SE-05", "3.30", 38, "<p>Früh und groß.</p>"),
    ("Pruning shears", "Hand tools", "HT-01", "27.90", 15, "<p>For both hands.</p>"),
    ("Spade with ash handle", "Hand tools", "HT-02", "42.00", 9, ""),
    ("Hand fork", "Hand tools", "HT-03", "11.20", 22, ""),
    ("Dibber", "Hand tools", "HT-04", "6.80", 31, ""),
    ("Clay pot", "Pots", "PO-01", "4.00", 200, ""),
    ("Hanging basket", "Pots", "PO-02", "13.50", 18, "<p>With a chain.</p>"),
)  # fmt: skip
_CUSTOMERS = (
    "Mara Lind", "Jonas Wolf", "Selma Berg", "Idris Bello", "Kofi Mensah", "Lotte Kramer", "Wim Claes", "Žofie Nová",
    "Ruth O'Hara", "Marta Silva",
)  # fmt: skip
_ORDERS = (
    ("Mara Lind", "Pending", "24.50"),
    ("Jonas Wolf", "Pending", "31.00"),
    ("Mara Lind", "Being processed", "8.00"),
    ("Selma Berg", "Pending", "89.00"),
    ("Idris Bello", "Pending", "6.80"),
    ("Jonas Wolf", "Being processed", "12.00"),
    ("Kofi Mensah", "Being processed", "27.90"),
    ("Lotte Kramer", "Pending", "42.00"),
    ("Selma Berg", "Pending", "11.20"),
    ("Wim Claes", "Pending", "13.50"),
    ("Jonas Wolf", "Pending", "2.40"),
    ("Žofie Nová", "Pending", "9.90"),
    ("Ruth O'Hara", "Pending", "55.00"),
    ("Idris Bello", "Being processed", "3.10"),
    ("Marta Silva", "Cancelled", "4.00"),
    ("Marta Silva", "Cancelled", "27.90"),
    ("Žofie Nová", "Being processed", "42.00"),
)
_REVIEWS = (
    ("Does not leak", "Watering can of zinc", "Anton", 5),
    ("Too heavy", "Watering can of zinc", "Bettina", 2),
    ("Kinks", "Garden hose", "Anton", 1),
    ("Buy cheap pills", "Garden hose", "pillman", 5),
    ("All of them came up", "Sunflower seeds", "Carlos", 5),
    ("Buy cheap pills here", "Clay pot", "pillman", 5),
    ("Small but nice", "Sunflower seeds, dwarf", "Dunja", 4),
    ("Sharp", "Pruning shears", "Carlos", 5),
    ("Broke in spring", "Spade with ash handle", "Elif", 1),
    ("For ever", "Spade with ash handle", "O'Brien", 5),
    ("Crisp", "Žofie's 大根 radish", "Jiří 東", 4),
    ("Pills again", "Hand fork", "pillman", 5),
    ("Nice weight", "Hand fork", "Elif", 4),
    ("As described", "Dibber", "Farid", 3),
    ("Cracked", "Clay pot", "Bettina", 2),
    ("Second one is better", "Clay pot", "O'Brien", 4),
    ("Ordered again", "Rain barrel", "Gesine", 5),
)
_OFFERS = ("Ten percent off", "Free delivery", "Spring sale", "For members")
_VOUCHERS = (("Opening day", "OPENING"), ("Market stall", "STALL26"), ("Harvest", "HARVEST"))
_FILES = {
    "site_urls.py": """
from django.apps import apps
from django.urls import include, path
urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
""",
}
_SETTINGS = """
from oscar.defaults import *
INSTALLED_APPS = [
    *INSTALLED_APPS, "django.contrib.sites", "django.contrib.flatpages", "oscar.config.Shop",
    *(f"oscar.apps.{each}" for each in (
        "analytics.apps.AnalyticsConfig", "checkout.apps.CheckoutConfig", "address.apps.AddressConfig",
        "shipping.apps.ShippingConfig", "catalogue.apps.CatalogueConfig",
        "catalogue.reviews.apps.CatalogueReviewsConfig", "communication.apps.CommunicationConfig",
        "partner.apps.PartnerConfig", "basket.apps.BasketConfig", "payment.apps.PaymentConfig",
        "offer.apps.OfferConfig", "order.apps.OrderConfig", "customer.apps.CustomerConfig",
        "search.apps.SearchConfig", "voucher.apps.VoucherConfig", "wishlists.apps.WishlistsConfig",
        "dashboard.apps.DashboardConfig", "dashboard.reports.apps.ReportsDashboardConfig",
        "dashboard.users.apps.UsersDashboardConfig", "dashboard.orders.apps.OrdersDashboardConfig",
        "dashboard.catalogue.apps.CatalogueDashboardConfig", "dashboard.offers.apps.OffersDashboardConfig",
        "dashboard.partners.apps.PartnersDashboardConfig", "dashboard.pages.apps.PagesDashboardConfig",
        "dashboard.ranges.apps.RangesDashboardConfig", "dashboard.reviews.apps.ReviewsDashboardConfig",
        "dashboard.vouchers.apps.VouchersDashboardConfig",
        "dashboard.communications.apps.CommunicationsDashboardConfig",
        "dashboard.shipping.apps.ShippingDashboardConfig",
    )),
    "widget_tweaks", "haystack", "treebeard", "sorl.thumbnail", "django_tables2",
]
MIDDLEWARE += [
    "oscar.apps.basket.middleware.BasketMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
]
TEMPLATES[0]["OPTIONS"]["context_processors"] += [
    "oscar.apps.search.context_processors.search_form", "oscar.apps.checkout.context_processors.checkout",
    "oscar.apps.communication.notifications.context_processors.notifications",
    "oscar.core.context_processors.metadata",
]
AUTHENTICATION_BACKENDS = [
    "oscar.apps.customer.auth_backends.EmailBackend", "django.contrib.auth.backends.ModelBackend",
]
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
SITE_ID = 1
LANGUAGE_CODE = "en-gb"
OSCAR_SHOP_NAME = "Garden shop"
OSCAR_INITIAL_ORDER_STATUS = OSCAR_INITIAL_LINE_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {
    "Pending": ("Being processed", "Shipped", "Cancelled"), "Being processed": ("Shipped", "Cancelled"),
    "Shipped": (), "Cancelled": (),
}

class _TablesAsTheyAre:  # the migrations take minutes on a busy machine
    def __contains__(self, application):
        return True

    def __getitem__(self, application):
        return None

MIGRATION_MODULES = _TablesAsTheyAre()
"""
_SEED = """
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from django.contrib.auth import get_user_model
from oscar.core.loading import get_model
data, day = given["data"], datetime(2026, 3, 2, 9, tzinfo=timezone.utc)
Product, Category = get_model("catalogue", "Product"), get_model("catalogue", "Category")
kind = get_model("catalogue", "ProductClass").objects.create(name="Goods")
partner = get_model("partner", "Partner").objects.create(name="Harbour store")
categories = {name: Category.add_root(name=name) for name in data["categories"]}
for title, category, sku, price, number, description in data["products"]:
    product = Product.objects.create(title=title, product_class=kind, description=description)
    product.categories.add(categories[category])
    product.stockrecords.create(partner=partner, partner_sku=sku, price=Decimal(price), num_in_stock=number)
customers = {}
for number, name in enumerate(data["customers"]):
    first, last = name.split()
    customers[name] = get_user_model().objects.create_user(
        f"customer{number}", f"customer{number}@garden.example", first_name=first, last_name=last)
for number, (name, status, total) in enumerate(data["orders"]):
    get_model("order", "Order").objects.create(
        number=str(100101 + number), user=customers[name], status=status, date_placed=day + timedelta(hours=number),
        total_incl_tax=Decimal(total), total_excl_tax=Decimal(total), currency="GBP")
for number, (title, product, name, score) in enumerate(data["reviews"]):
    made = get_model("reviews", "ProductReview").objects.create(
        product=Product.objects.get(title=product), title=title, body=title, score=score, name=name,
        email=f"reader{number}@garden.example", status=0)
    type(made).objects.filter(id=made.id).update(date_created=day + timedelta(hours=number))
everything = get_model("offer", "Range").objects.create(name="Everything", includes_all_products=True)
offers = [
    get_model("offer", "ConditionalOffer").objects.create(
        name=name, offer_type="Voucher", start_datetime=day,
        condition=get_model("offer", "Condition").objects.create(range=everything, type="Count", value=1),
        benefit=get_model("offer", "Benefit").objects.create(range=everything, type="Percentage", value=10))
    for name in data["offers"]
]
for name, code in data["vouchers"]:
    voucher = get_model("voucher", "Voucher").objects.create(
        name=name, code=code, usage="Multi-use", start_datetime=day, end_datetime=day + timedelta(days=365))
    voucher.offers.add(offers[0])
"""
_DATA = {
    "categories": _CATEGORIES, "products": _PRODUCTS, "customers": _CUSTOMERS, "orders": _ORDERS,
    "reviews": _REVIEWS, "offers": _OFFERS, "vouchers": _VOUCHERS,
}  # fmt: skip


@asynccontextmanager
async def start_django_oscar(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve the dashboard of a garden shop."""
    async with serve_project(
        parent, ("django-oscar", version), _FILES, _SETTINGS, _SEED, _DATA, USER, _read_state, "/dashboard/login/"
    ) as running:  # fmt: skip
        yield running


def _read_state(database: Path) -> Any:
    """Return what the shop sells and promises, without numbers of rows and times of changes."""
    return {
        "products": read_rows(
            database,
            "select title, product.slug, upc, product.description, product.is_public, category.name as category,"
            " partner_sku, price, num_in_stock from catalogue_product product"
            " left join catalogue_productcategory chosen on chosen.product_id = product.id"
            " left join catalogue_category category on category.id = chosen.category_id"
            " left join partner_stockrecord stock on stock.product_id = product.id order by product.id, partner_sku",
        ),
        "vouchers": read_rows(
            database,
            "select voucher.name, code, usage, voucher.start_datetime, voucher.end_datetime, offer.name as offer"
            " from voucher_voucher voucher left join voucher_voucher_offers chosen on voucher_id = voucher.id"
            " left join offer_conditionaloffer offer on offer.id = conditionaloffer_id order by code, offer",
        ),
        "orders": read_rows(database, "select number, status from order_order order by number"),
        "reviews": read_rows(
            database, "select title, body, score, name, status from reviews_productreview order by id"
        ),
    }


async def _sign_in(page: Page, noise: Noise, menu: str, item: str) -> None:
    await noise.type("#id_username", USER)
    await noise.type("#id_password", PASSWORD)
    await page.get_by_role("button", name="Login").click()
    bar = page.locator("#bottom_nav_bar")
    await bar.get_by_role("button", name=menu, exact=True).click()
    await bar.get_by_role("link", name=item, exact=True).click()
    await page.get_by_role("heading", name=item, exact=True).first.wait_for()


async def _answered(page: Page) -> None:
    """Wait for what the next page says, or for a field that the browser does not send."""
    await page.locator(".alert, .error-block:visible, input:invalid").first.wait_for()


async def _pick(page: Page, field: str, label: str) -> None:
    """Open the box that stands for a select, and press an option."""
    await page.locator(f"{field} + .select2").click()
    await page.locator(".select2-results__option").get_by_text(label, exact=True).click()


async def _type_time(page: Page, field: str, text: str) -> None:
    """Type into a field with a mask, which puts the cursor where it wants it a moment after the click."""
    for _ in range(3):
        await page.click(field)
        await page.wait_for_timeout(300)
        await page.keyboard.press("ControlOrMeta+A")
        await page.keyboard.type(text)
        if await page.input_value(field) == text:
            return


def _row(page: Page, text: str) -> Locator:
    return page.locator("table tr").filter(has=page.get_by_role("cell", name=text, exact=True))


async def create_product(page: Page, given: Given, noise: Noise) -> None:
    """Fill in three of the tabs of a product's form."""
    await _sign_in(page, noise, "Catalogue", "Products")
    await page.get_by_role("button", name="New Product").click()
    await noise.type("#id_title", given["title"])
    if given["description"]:
        await page.frame_locator(".tox-edit-area iframe").locator("body").click()
        await page.keyboard.type(given["description"])
    await page.get_by_role("link", name="Categories", exact=True).click()
    await _pick(page, "#id_productcategory_set-0-category", given["category"])
    await page.get_by_role("link", name="Stock and pricing").click()
    await _pick(page, "#id_stockrecords-0-partner", "Harbour store")
    await noise.type("#id_stockrecords-0-partner_sku", given["sku"])
    await noise.type("#id_stockrecords-0-num_in_stock", given["stock"])
    await noise.type("#id_stockrecords-0-price", given["price"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await _answered(page)


async def edit_product(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise, "Catalogue", "Products")
    await page.get_by_role("link", name=given["title"], exact=True).click()
    await page.get_by_role("link", name="Stock and pricing").click()
    await noise.retype("#id_stockrecords-0-num_in_stock", given["stock"])
    await noise.retype("#id_stockrecords-0-price", given["price"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await _answered(page)


async def delete_product(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise, "Catalogue", "Products")
    row = _row(page, given["title"])
    await row.get_by_role("button", name="Actions").click()
    await row.get_by_role("link", name="Delete").click()
    await page.get_by_role("button", name="Delete").click()
    await _answered(page)


async def create_voucher(page: Page, given: Given, noise: Noise) -> None:
    await _sign_in(page, noise, "Offers", "Vouchers")
    await page.get_by_role("link", name="Create new voucher").click()
    await noise.type("#id_name", given["name"])
    if given["code"]:
        await noise.type("#id_code", given["code"])
    await _type_time(page, "#id_start_datetime", given["start"])
    await _type_time(page, "#id_end_datetime", given["end"])
    await _pick(page, "#id_offers", given["offer"])
    await page.get_by_role("button", name="Save", exact=True).click()
    await _answered(page)


async def change_orders(page: Page, given: Given, noise: Noise) -> None:
    """Tick the orders of a customer, and change their status."""
    await _sign_in(page, noise, "Fulfilment", "Orders")
    rows = _row(page, given["customer"])
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator(".selected_order").check()
    await _pick(page, "select[name=new_status]", given["status"])
    await page.get_by_role("button", name="Change status").click()
    await _answered(page)


async def moderate_reviews(page: Page, given: Given, noise: Noise) -> None:
    """Tick the reviews that somebody wrote, and reject or approve them."""
    await _sign_in(page, noise, "Content", "Reviews")
    rows = _row(page, given["writer"])
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator(".selected_review").check()
    await _pick(page, "#update_reviews_form select[name=status]", given["status"])
    await page.get_by_role("button", name="Update").click()
    await page.locator(".selected_review:checked").first.wait_for(state="hidden")


def _product(title: str, category: str, sku: str, price: str, stock: str, description: str) -> dict[str, str]:
    return {"title": title, "category": category, "sku": sku, "price": price, "stock": stock,
            "description": description}  # fmt: skip


def _stocked(title: str, price: str, stock: str) -> dict[str, str]:
    return {"title": title, "price": price, "stock": stock}


def _voucher(name: str, code: str, start: str, end: str, offer: str) -> dict[str, str]:
    return {
        "name": name,
        "code": code,
        "start": f"{start} 08:00:00",
        "end": f"{end} 20:00:00",
        "offer": offer,
    }


def _changed(customer: str, status: str) -> dict[str, str]:
    return {"customer": customer, "status": status}


def _moderated(writer: str, status: str) -> dict[str, str]:
    return {"writer": writer, "status": status}


JOBS = [
    Job("create_product", create_product, instances(
        ("plain", _product("Wheelbarrow", "Hand tools", "HT-20", "74.00", "5", "With a wide tyre.")),
        ("plain", _product("Tomato seeds", "Seeds", "SE-21", "2.80", "120", "Early and red.")),
        ("plain", _product("Drip hose", "Watering", "WA-22", "18.40", "14", "Fifteen metres.")),
        ("plain", _product("Window box", "Pots", "PO-23", "16.90", "26", "Made of larch.")),
        ("plain", _product("Leaf rake", "Hand tools", "HT-24", "21.30", "11", "Folds up.")),
        ("plain", _product("Thyme seeds", "Seeds", "SE-25", "3.20", "75", "Comes back every year.")),
        ("quotes", _product("Gardener's \"best\" gloves", "Hand tools", "HT-26", "9.60", "40", "They don't \"wear out\"")),
        ("unicode", _product("Žofie 東京 Gießkanne", "Watering", "WA-27", "33.00", "8", "Größe 10 ✓ прошу")),
        ("long", _product("Pot with a story", "Pots", "PO-28", "12.00", "4", LONG)),
        ("empty", _product("Plant labels", "Hand tools", "HT-29", "1.50", "300", "")),
        ("empty", _product("Saucer", "Pots", "PO-30", "2.10", "95", "")),
        ("refused", _product("Compost", "Pots", "PO-31", "cheap", "20", "There is no price")),
        ("existing", _product("Rake", "Hand tools", "HT-02", "19.00", "6", "The number is the spade's")),
    ), "/dashboard/", "create"),
    Job("edit_product", edit_product, instances(
        ("plain", _stocked("Watering can of zinc", "26.00", "30")),
        ("plain", _stocked("Clay pot", "4.40", "180")),
        ("plain", _stocked("Hand fork", "12.10", "17")),
        ("plain", _stocked("Rain barrel", "84.50", "6")),
        ("plain", _stocked("Dibber", "7.25", "50")),
        ("plain", _stocked("Sunflower seeds, dwarf", "2.75", "110")),
        ("plain", _stocked("Sunflower seeds", "2.45", "65")),
        ("quotes", _stocked('Beans "Blue Lake"', "3.35", "48")),
        ("quotes", _stocked("Grandma's leek", "3.05", "52")),
        ("unicode", _stocked("Žofie's 大根 radish", "3.60", "27")),
        ("refused", _stocked("Garden hose", "free", "9")),
        ("refused", _stocked("Hanging basket", "14.00", "-3")),
        ("missing", _stocked("Greenhouse", "900.00", "1")),
        ("missing", _stocked("Watering can", "20.00", "5")),
    ), "/dashboard/", "edit"),
    Job("delete_product", delete_product, instances(
        *(("plain", {"title": each}) for each in (
            "Dibber", "Rain barrel", "Spade with ash handle", "Hanging basket", "Garden hose", "Sunflower seeds",
            "Pruning shears", "Clay pot",
        )),
        ("quotes", {"title": 'Beans "Blue Lake"'}),
        ("quotes", {"title": "Grandma's leek"}),
        ("unicode", {"title": "Žofie's 大根 radish"}),
        ("missing", {"title": "Greenhouse"}),
        ("missing", {"title": "Spade"}),
    ), "/dashboard/", "delete"),
    Job("create_voucher", create_voucher, instances(
        ("plain", _voucher("Newspaper", "PAPER5", "2027-01-10", "2027-02-10", "Spring sale")),
        ("plain", _voucher("Garden club", "CLUB", "2027-03-01", "2027-09-30", "For members")),
        ("plain", _voucher("Window posters", "POSTER", "2027-02-15", "2027-03-15", "Free delivery")),
        ("plain", _voucher("School visit", "SCHOOL27", "2027-05-03", "2027-05-28", "Ten percent off")),
        ("plain", _voucher("Rainy weeks", "RAIN", "2027-10-01", "2027-11-30", "Free delivery")),
        ("plain", _voucher("Neighbours", "NEXTDOOR", "2027-04-02", "2027-12-31", "For members")),
        ("quotes", _voucher("Ruth's \"secret\" voucher", "RUTH", "2027-06-01", "2027-06-30", "Spring sale")),
        ("unicode", _voucher("Žofie 東京 Gutschein", "ŽOFIE", "2027-07-01", "2027-07-31", "Ten percent off")),
        ("long", _voucher(LONG[:125].strip(), "LONGSTORY", "2027-08-01", "2027-08-31", "Spring sale")),
        ("refused", _voucher("Backwards", "BACK", "2027-08-20", "2027-08-10", "Free delivery")),
        ("refused", _voucher("Without a code", "", "2027-02-10", "2027-02-28", "Spring sale")),
        ("existing", _voucher("Market stall", "STALL27", "2027-09-01", "2027-10-31", "For members")),
        ("existing", _voucher("Another harvest", "HARVEST", "2027-09-01", "2027-10-31", "Ten percent off")),
    ), "/dashboard/", "create"),
    Job("change_orders", change_orders, instances(
        ("plain", _changed("Mara Lind", "Shipped")),
        ("plain", _changed("Jonas Wolf", "Cancelled")),
        ("plain", _changed("Selma Berg", "Being processed")),
        ("plain", _changed("Idris Bello", "Shipped")),
        ("plain", _changed("Kofi Mensah", "Cancelled")),
        ("plain", _changed("Lotte Kramer", "Being processed")),
        ("plain", _changed("Wim Claes", "Shipped")),
        ("plain", _changed("Jonas Wolf", "Shipped")),
        ("quotes", _changed("Ruth O'Hara", "Being processed")),
        ("unicode", _changed("Žofie Nová", "Shipped")),
        ("refused", _changed("Marta Silva", "Shipped")),
        ("missing", _changed("Bruno Costa", "Shipped")),
        ("missing", _changed("Mara", "Cancelled")),
    ), "/dashboard/", "list"),
    Job("moderate_reviews", moderate_reviews, instances(
        ("plain", _moderated("pillman", "Rejected")),
        ("plain", _moderated("Carlos", "Approved")),
        ("plain", _moderated("Bettina", "Rejected")),
        ("plain", _moderated("Anton", "Approved")),
        ("plain", _moderated("Elif", "Approved")),
        ("plain", _moderated("Dunja", "Rejected")),
        ("plain", _moderated("Farid", "Approved")),
        ("plain", _moderated("Gesine", "Rejected")),
        ("quotes", _moderated("O'Brien", "Rejected")),
        ("unicode", _moderated("Jiří 東", "Approved")),
        ("missing", _moderated("Hugo", "Rejected")),
        ("missing", _moderated("pill", "Rejected")),
    ), "/dashboard/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {
    "create_product": _product("Tomato seeds", "Seeds", "SE-01", "2.80", "120", "Early and red."),
    "edit_product": _stocked("Clay pot", "a lot", "180"),
    "create_voucher": _voucher("Garden club", "STALL26", "2027-03-01", "2027-09-30", "For members"),
}
"""Values that the form refuses, for a recording that must not count."""


DJANGO_OSCAR = Application(
    "django_oscar", "server-rendered, select2 and TinyMCE", add_invalid(JOBS, INVALID), start_django_oscar,
)  # fmt: skip
