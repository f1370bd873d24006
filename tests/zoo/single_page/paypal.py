"""Jobs of the wallet (paypal-my-wallet)."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given, Person

NAME = "paypal-my-wallet"
_NOW = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
"""A time that the page wrote; those of the seed have no milliseconds."""
_CARD_NUMBER = "411111111111"
_ACCOUNT_NUMBER = "000123"
"""What people type before the last four digits, which alone are named."""


def _normalize(state: Any) -> Any:
    """Remove the times of changes and the random codes of gift cards."""
    if isinstance(state, dict):
        return {name: _normalize(each) for name, each in state.items() if name != "redemptionCode"}
    if isinstance(state, list):
        return [_normalize(each) for each in state]
    return "now" if isinstance(state, str) and _NOW.fullmatch(state) else state


async def _go(page: Page, view: str) -> None:
    await page.click(f".nav-item[data-view={view}]")


async def _press(inside: Page | Locator, name: str) -> None:
    await inside.get_by_role("button", name=name, exact=True).click()


async def _answer(page: Page, name: str) -> None:
    await _press(page.locator(".modal-footer"), name)


async def _choose(page: Page, dropdown: str, option: str | re.Pattern[str]) -> None:
    await page.click(f"#{dropdown} .dropdown-trigger")
    await page.locator(f"#{dropdown} .dropdown-item").filter(has_text=option).click()


async def _pick(page: Page, option: str) -> None:
    await page.locator(".modal .radio-option").filter(has_text=_exactly(option)).click()


def _exactly(text: str) -> re.Pattern[str]:
    return re.compile(rf"^\s*{re.escape(text)}\s*$", re.IGNORECASE)


def _titled(page: Page, rows: str, title: str) -> Locator:
    return page.locator(rows).filter(has=page.get_by_text(title, exact=True))


def _ending_in(page: Page, rows: str, last_four: str) -> Locator:
    return page.locator(rows).filter(has_text=f"•••• {last_four}")


def _number(text: str) -> str:
    return text.replace(",", "")


async def set_preferred_payment_method(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "preferences")
    await noise.wander()
    await _choose(page, "preferred-payment-dropdown", f"****{given['last_four']}")


async def set_backup_payment_method(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "preferences")
    await noise.wander()
    await _choose(page, "backup-payment-dropdown", f"****{given['last_four']}")


async def remove_card(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "cards")
    await noise.wander()
    await _press(_ending_in(page, ".card-item", given["last_four"]), "Remove")
    await _answer(page, "Remove")


async def confirm_card(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "cards")
    await _press(_ending_in(page, ".card-item", "8834"), "Confirm Card")
    await noise.type("#confirm-code", given["code"])
    await noise.wander()
    await _answer(page, "Confirm")


async def add_card(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "cards")
    await page.get_by_role("button", name="Link a Card").click()
    await _pick(page, given["type"])
    await _pick(page, given["brand"])
    await noise.type("#card-number", f"{_CARD_NUMBER}{given['last_four']}")
    await noise.retype("#card-name", given["holder"])
    await noise.type("#card-exp-month", given["month"])
    await noise.type("#card-exp-year", given["year"])
    await noise.type("#card-street", given["street"])
    await noise.type("#card-city", given["city"])
    await noise.type("#card-state", given["state"])
    await noise.type("#card-zip", given["zip"])
    await noise.retype("#card-country", given["country"])
    await noise.wander()
    await _answer(page, "Link Card")


async def update_billing_address(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "cards")
    await _press(_ending_in(page, ".card-item", given["last_four"]), "Update")
    for name in ("street", "city", "state", "zip", "country"):
        await noise.retype(f"#edit-{name}", given[name])
    await noise.wander()
    await _answer(page, "Update Card")


async def confirm_bank(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "banks")
    await _press(_ending_in(page, ".bank-item", "5518"), "Confirm")
    await noise.type("#deposit-1", given["first"])
    await noise.wander()
    await noise.type("#deposit-2", given["second"])
    await _answer(page, "Confirm")


async def remove_bank(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "banks")
    await noise.wander()
    await _press(_ending_in(page, ".bank-item", given["last_four"]), "Remove")
    await _answer(page, "Remove")


async def add_bank(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "banks")
    await page.get_by_role("button", name="Link a Bank").click()
    await noise.type("#bank-name", given["bank"])
    await _pick(page, given["type"])
    await noise.type("#bank-routing", given["routing"])
    await noise.wander()
    await noise.type("#bank-account", f"{_ACCOUNT_NUMBER}{given['last_four']}")
    await noise.type("#bank-account-confirm", f"{_ACCOUNT_NUMBER}{given['last_four']}")
    await _answer(page, "Link Bank Account")


async def add_money(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "balance")
    await page.get_by_role("button", name="Add Money").click()
    await noise.type("#add-money-amount", _number(given["amount"]))
    await noise.wander()
    await _choose(page, "add-money-bank", f"****{given['last_four']}")
    await _answer(page, "Add Money")


async def withdraw_money(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "balance")
    await page.get_by_role("button", name="Withdraw").click()
    await noise.type("#withdraw-amount", _number(given["amount"]))
    await noise.wander()
    await _choose(page, "withdraw-bank", f"****{given['last_four']}")
    await _answer(page, "Withdraw")


async def convert_currency(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "balance")
    await page.get_by_role("button", name="Convert").click()
    await _choose(page, "convert-from-currency", f"{given['source']} (")
    await _choose(page, "convert-to-currency", f"{given['target']} - ")
    await noise.type("#convert-amount", _number(given["amount"]))
    await noise.wander()
    await _answer(page, "Convert")


async def add_currency(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "balance")
    await page.get_by_role("button", name="Add Currency").click()
    await noise.wander()
    await _choose(page, "add-currency-select", _exactly(f"{given['code']} - {given['name']}"))
    await _answer(page, "Add Currency")


async def remove_empty_currency(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "balance")
    await noise.wander()
    await _press(_titled(page, ".currency-item", "Canadian Dollar"), "Remove")


async def set_primary_currency(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "balance")
    await noise.wander()
    await _press(_titled(page, ".currency-item", given["code"]), "Set Primary")


async def buy_crypto(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "crypto")
    await _press(_titled(page, ".crypto-item", given["name"]), "Buy")
    await noise.type("#buy-crypto-amount", _number(given["amount"]))
    await noise.wander()
    await _answer(page, f"Buy {given['name']}")


async def sell_crypto(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "crypto")
    await _press(_titled(page, ".crypto-item", given["name"]), "Sell")
    await noise.type("#sell-crypto-amount", _number(given["amount"]))
    await noise.wander()
    await _answer(page, f"Sell {given['name']}")


async def deposit_to_savings(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "savings")
    await page.get_by_role("button", name="Deposit").click()
    await noise.type("#savings-deposit-amount", _number(given["amount"]))
    await noise.wander()
    await _answer(page, "Deposit")


async def withdraw_from_savings(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "savings")
    await page.get_by_role("button", name="Withdraw").click()
    await noise.type("#savings-withdraw-amount", _number(given["amount"]))
    await noise.wander()
    await _answer(page, "Withdraw")


async def set_spending_limit(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "debit-card")
    await _press(_titled(page, ".info-row", "Daily Spending Limit"), "Change")
    await noise.retype("#spending-limit", _number(given["amount"]))
    await noise.wander()
    await _answer(page, "Update")


async def set_atm_limit(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "debit-card")
    await _press(_titled(page, ".info-row", "Daily ATM Limit"), "Change")
    await noise.retype("#atm-limit", _number(given["amount"]))
    await noise.wander()
    await _answer(page, "Update")


async def change_employer(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "debit-card")
    await _press(_titled(page, ".info-row", "Employer"), "Edit")
    await noise.retype("#employer-name", given["employer"])
    await noise.wander()
    await _answer(page, "Save")


async def change_cash_back_category(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "debit-card")
    await noise.wander()
    await _choose(page, "cashback-category-dropdown", _exactly(given["category"]))


async def pay_credit(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "credit")
    await _press(page, "Make a Payment")
    await noise.type("#credit-payment-amount", _number(given["amount"]))
    await noise.wander()
    await _answer(page, "Make Payment")


async def save_offer(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "offers")
    await noise.wander()
    await _press(_titled(page, ".offer-card", given["merchant"]), "Save Offer")


async def remove_saved_offer(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "offers")
    await noise.wander()
    await page.locator(".tab-btn", has_text="Saved").click()
    await _press(_titled(page, ".offer-card", given["merchant"]), "Remove")


async def redeem_points(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "rewards")
    await page.get_by_role("button", name="Redeem Points").click()
    await noise.type("#redeem-points", _number(given["points"]))
    await noise.wander()
    await _pick(page, given["reward"].removeprefix("a "))
    await _answer(page, "Redeem")


async def _order_gift_card(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "gift-cards")
    await page.get_by_role("button", name="Buy Gift Card").click()
    await _titled(page, ".gift-card-merchant-option", given["merchant"]).click()
    await noise.wander()
    await _press(page.locator("#gift-card-amounts"), f"${given['amount']}")


async def buy_gift_card(page: Page, given: Given, noise: Noise) -> None:
    await _order_gift_card(page, given, noise)
    await noise.type("#gc-recipient-name", given["name"])
    await noise.type("#gc-recipient-email", given["email"])
    await noise.type("#gc-message", given["message"])
    await _answer(page, "Buy Gift Card")


async def buy_gift_card_for_yourself(page: Page, given: Given, noise: Noise) -> None:
    await _order_gift_card(page, given, noise)
    await noise.type("#gc-recipient-name", "Jordan Mitchell")
    await noise.type("#gc-recipient-email", "jordan.mitchell@outlook.com")
    await _answer(page, "Buy Gift Card")


def _turn(view: str, setting: str, switch: str, *, wander: bool = True) -> Person:
    """Return a person who flips a switch of a page. `setting`: its label; empty: the given one."""

    async def turn(page: Page, given: Given, noise: Noise) -> None:
        await _go(page, view)
        if wander:
            await noise.wander()
        await _titled(page, ".toggle-row", setting or given["setting"]).locator(switch).click()

    return turn


_ON, _OFF = ".toggle-switch.on", ".toggle-switch:not(.on)"
_AGAIN: list[Given] = [{}, {}, {}, {}]
"""Four more instances of a job that has no value."""


JOBS = [
    benchmark_job(
        NAME, "set_preferred_payment_method", set_preferred_payment_method,
        [
            "Set the {method} ending in {last_four} as your preferred payment method.",
            "In wallet preferences, change your preferred payment method to the {method} ending in {last_four}.",
        ],
        own=[
            {"method": "Mastercard credit card", "last_four": "2290"},
            {"method": "Chase checking account", "last_four": "6742"},
            {"method": "Bank of America savings account", "last_four": "3891"},
            {"method": "Citibank checking account", "last_four": "1104"},
            {"method": "US Bank savings account", "last_four": "7823"},
        ],
        missing=[
            {"method": "Visa debit card", "last_four": "8834"},
            {"method": "Capital One credit card", "last_four": "4417"},
        ],
    ),
    benchmark_job(
        NAME, "set_backup_payment_method", set_backup_payment_method,
        [
            "Set the {method} ending in {last_four} as your backup payment method.",
            "In wallet preferences, change your backup payment method to the {method} ending in {last_four}.",
        ],
        own=[
            {"method": "Visa credit card", "last_four": "4829"},
            {"method": "Mastercard debit card", "last_four": "7156"},
            {"method": "US Bank savings account", "last_four": "7823"},
            {"method": "Citibank checking account", "last_four": "1104"},
            {"method": "Mastercard credit card", "last_four": "2290"},
        ],
        missing=[
            {"method": "Wells Fargo checking account", "last_four": "5518"},
            {"method": "Diners Club card", "last_four": "9043"},
        ],
    ),
    benchmark_job(
        NAME, "remove_card", remove_card, ["Remove the {card} ending in {last_four} from your wallet."],
        own=[
            {"card": "American Express credit card", "last_four": "3001"},
            {"card": "Mastercard debit card", "last_four": "7156"},
            {"card": "Mastercard credit card", "last_four": "2290"},
            {"card": "Visa debit card", "last_four": "8834"},
        ],
        missing=[
            {"card": "Visa credit card", "last_four": "1357"},
            {"card": "Discover credit card", "last_four": "6212"},
        ],
        action="delete",
    ),
    benchmark_job(  # one card waits for its code, and any code is accepted
        NAME, "confirm_card", confirm_card,
        [
            "Confirm the pending Visa debit card ending in 8834 by entering the 4-digit confirmation code '{code}'.",
        ],
        own=[{"code": "5678"}, {"code": "4071"}, {"code": "9920"}, {"code": "0316"}],
    ),
    benchmark_job(
        NAME, "add_card", add_card,
        [
            (
                "Add a new {brand} {type} card with card number ending in {last_four}, cardholder name '{holder}', "
                "expiration month {month}, expiration year {year}, and billing address: {street}, {city}, {state} {zip}, "
                "{country}."
            )
        ],
        own=[
            {
                "brand": "Mastercard", "type": "debit", "last_four": "4410", "holder": "Dana Whitfield", "month": "4",
                "year": "2029", "street": "18 Harbor Road", "city": "Portland", "state": "OR", "zip": "97205",
                "country": "US",
            },
            {
                "brand": "Discover", "type": "credit", "last_four": "6038", "holder": "J. R. Mitchell", "month": "10",
                "year": "2031", "street": "2200 King Street West", "city": "Toronto", "state": "ON", "zip": "M6K 3J5",
                "country": "CA",
            },
            {
                "brand": "Amex", "type": "credit", "last_four": "1005", "holder": "Siobhan O'Connor", "month": "7",
                "year": "2028", "street": "9 O'Farrell St, Apt \"B\"", "city": "Oakland", "state": "CA",
                "zip": "94607", "country": "US",
            },
            {
                "brand": "Visa", "type": "debit", "last_four": "7712", "holder": "Zoë Nuñez", "month": "1",
                "year": "2032", "street": "77 Cañon Avenue", "city": "Española", "state": "NM", "zip": "87532",
                "country": "US",
            },
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "update_billing_address", update_billing_address,
        [
            (
                "Update the billing address of the {card} ending in {last_four} to: {street}, {city}, {state} {zip}, "
                "{country}."
            )
        ],
        own=[
            {
                "card": "Visa card", "last_four": "4829", "street": "31 Bayview Terrace", "city": "Sausalito",
                "state": "CA", "zip": "94965", "country": "US",
            },
            {
                "card": "Mastercard debit card", "last_four": "7156", "street": "880 Granville Street",
                "city": "Vancouver", "state": "BC", "zip": "V6Z 1K3", "country": "CA",
            },
            {
                "card": "Mastercard credit card", "last_four": "2290", "street": "12 Saint Mary's Lane",
                "city": "Coeur d'Alene", "state": "ID", "zip": "83814", "country": "US",
            },
            {
                "card": "Visa debit card", "last_four": "8834", "street": "5 Plaza Colón", "city": "San Germán",
                "state": "PR", "zip": "00683", "country": "US",
            },
        ],
        missing=[
            {
                "card": "Visa card", "last_four": "4892", "street": "31 Bayview Terrace", "city": "Sausalito",
                "state": "CA", "zip": "94965", "country": "US",
            },
            {
                "card": "Discover card", "last_four": "1180", "street": "640 Elm Street", "city": "Denver",
                "state": "CO", "zip": "80220", "country": "US",
            },
        ],
    ),
    benchmark_job(  # one account waits for its amounts
        NAME, "confirm_bank", confirm_bank,
        [
            (
                "Confirm the pending Wells Fargo checking account ending in 5518 by entering micro-deposit amounts of "
                "${first} and ${second}."
            )
        ],
        own=[
            {"first": "0.07", "second": "0.21"},
            {"first": "0.45", "second": "0.03"},
            {"first": "0.19", "second": "0.88"},
            {"first": "0.50", "second": "0.51"},
        ],
    ),
    benchmark_job(
        NAME, "remove_bank", remove_bank, ["Remove the {account} ending in {last_four} from your wallet."],
        own=[
            {"account": "Bank of America savings account", "last_four": "3891"},
            {"account": "Wells Fargo checking account", "last_four": "5518"},
            {"account": "US Bank savings account", "last_four": "7823"},
        ],
        missing=[
            {"account": "PNC checking account", "last_four": "2206"},
            {"account": "Chase checking account", "last_four": "6724"},
        ],
        action="delete",
    ),
    benchmark_job(
        NAME, "add_bank", add_bank,
        [
            (
                "Add a new {type} account at {bank} with routing number {routing} and account number ending in "
                "{last_four}."
            )
        ],
        own=[
            {"type": "savings", "bank": "Ally Bank", "routing": "124003116", "last_four": "9071"},
            {"type": "checking", "bank": "Capital One", "routing": "056073502", "last_four": "2358"},
            {"type": "savings", "bank": "People's \"First\" Credit Union", "routing": "221172186", "last_four": "6604"},
            {"type": "checking", "bank": "Caixa Econômica São João", "routing": "067014822", "last_four": "1190"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "add_money", add_money,
        ["Add ${amount} to your PayPal balance from the {account} ending in {last_four}."],
        own=[
            {"amount": "75.50", "account": "Citibank checking account", "last_four": "1104"},
            {"amount": "320.00", "account": "US Bank savings account", "last_four": "7823"},
            {"amount": "1,250.00", "account": "Bank of America savings account", "last_four": "3891"},
            {"amount": "42.17", "account": "Chase checking account", "last_four": "6742"},
        ],
        missing=[
            {"amount": "60.00", "account": "Wells Fargo checking account", "last_four": "5518"},
            {"amount": "200.00", "account": "Ally Bank savings account", "last_four": "9071"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "withdraw_money", withdraw_money,
        ["Withdraw ${amount} from your PayPal balance to the {account} ending in {last_four}."],
        own=[
            {"amount": "64.25", "account": "Chase checking account", "last_four": "6742"},
            {"amount": "150.00", "account": "Citibank checking account", "last_four": "1104"},
            {"amount": "1,900.00", "account": "US Bank savings account", "last_four": "7823"},
            {"amount": "19.99", "account": "Bank of America savings account", "last_four": "3891"},
        ],
        missing=[
            {"amount": "90.00", "account": "Wells Fargo checking account", "last_four": "5518"},
            {"amount": "35.00", "account": "PNC checking account", "last_four": "2206"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "convert_currency", convert_currency, ["Convert ${amount} {source} to {target}."],
        own=[
            {"amount": "60.50", "source": "AUD", "target": "GBP"},
            {"amount": "240.00", "source": "USD", "target": "CHF"},
            {"amount": "35.00", "source": "AUD", "target": "USD"},
            {"amount": "1,100.00", "source": "USD", "target": "JPY"},
        ],
        missing=[
            {"amount": "50.00", "source": "SGD", "target": "USD"},
            {"amount": "25.00", "source": "USD", "target": "KRW"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "add_currency", add_currency, ["Add {name} ({code}) as a new currency to your wallet."],
        own=[
            {"name": "Swedish Krona", "code": "SEK"},
            {"name": "Mexican Peso", "code": "MXN"},
            {"name": "Indian Rupee", "code": "INR"},
            {"name": "Singapore Dollar", "code": "SGD"},
        ],
        missing=[{"name": "Turkish Lira", "code": "TRY"}, {"name": "South Korean Won", "code": "KRW"}],
        action="create",
    ),
    benchmark_job(  # one currency is empty
        NAME, "remove_empty_currency", remove_empty_currency,
        ["Remove the Canadian Dollar (CAD) currency from your wallet (it has a zero balance)."],
        own=_AGAIN, action="delete",
    ),
    benchmark_job(
        NAME, "set_primary_currency", set_primary_currency, ["Set {code} ({name}) as your primary currency."],
        own=[
            {"code": "GBP", "name": "British Pound"},
            {"code": "CAD", "name": "Canadian Dollar"},
            {"code": "JPY", "name": "Japanese Yen"},
            {"code": "AUD", "name": "Australian Dollar"},
        ],
        missing=[{"code": "NZD", "name": "New Zealand Dollar"}, {"code": "TRY", "name": "Turkish Lira"}],
    ),
    benchmark_job(
        NAME, "buy_crypto", buy_crypto,
        ["Buy ${amount} worth of {name} ({symbol}) using your PayPal balance."],
        own=[
            {"amount": "250.00", "name": "Ethereum", "symbol": "ETH"},
            {"amount": "12.50", "name": "Bitcoin Cash", "symbol": "BCH"},
            {"amount": "80.00", "name": "Chainlink", "symbol": "LINK"},
            {"amount": "1,000.00", "name": "Litecoin", "symbol": "LTC"},
        ],
        missing=[
            {"amount": "40.00", "name": "Dogecoin", "symbol": "DOGE"},
            {"amount": "15.00", "name": "Cardano", "symbol": "ADA"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "sell_crypto", sell_crypto,
        ["Sell ${amount} worth of {name} ({symbol}) back to your PayPal balance."],
        own=[
            {"amount": "30.00", "name": "Chainlink", "symbol": "LINK"},
            {"amount": "210.75", "name": "Bitcoin Cash", "symbol": "BCH"},
            {"amount": "1,500.00", "name": "Bitcoin", "symbol": "BTC"},
            {"amount": "18.00", "name": "PayPal USD", "symbol": "PYUSD"},
        ],
        missing=[
            {"amount": "20.00", "name": "Solana", "symbol": "SOL"},
            {"amount": "65.00", "name": "Dogecoin", "symbol": "DOGE"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "deposit_to_savings", deposit_to_savings,
        ["Deposit ${amount} from your PayPal balance into your PayPal Savings account."],
        own=[{"amount": "85.00"}, {"amount": "120.40"}, {"amount": "1,750.00"}, {"amount": "9.99"}],
        action="create",
    ),
    benchmark_job(
        NAME, "withdraw_from_savings", withdraw_from_savings,
        ["Withdraw ${amount} from your PayPal Savings account back to your PayPal balance."],
        own=[{"amount": "45.00"}, {"amount": "610.25"}, {"amount": "8,200.00"}, {"amount": "300.00"}],
        action="create",
    ),
    benchmark_job(
        NAME, "set_spending_limit", set_spending_limit,
        ["Set the daily spending limit on your PayPal Debit Card to ${amount}."],
        own=[{"amount": "750"}, {"amount": "2,500"}, {"amount": "1200"}, {"amount": "10,000"}],
    ),
    benchmark_job(
        NAME, "set_atm_limit", set_atm_limit,
        ["Set the daily ATM withdrawal limit on your PayPal Debit Card to ${amount}."],
        own=[{"amount": "750"}, {"amount": "120"}, {"amount": "2,000"}, {"amount": "60"}],
    ),
    benchmark_job(
        NAME, "turn_off_cash_back", _turn("debit-card", "Cash Back (5%)", _ON),
        ["Disable the cash back feature on your PayPal Debit Card."],
        own=_AGAIN,
    ),
    benchmark_job(
        NAME, "change_employer", change_employer,
        ["Change the employer name for your PayPal Debit Card direct deposit to '{employer}'."],
        own=[
            {"employer": "Harbor Logistics"},
            {"employer": "Northwind Traders Inc."},
            {"employer": "O'Brien \"Fresh\" Foods"},
            {"employer": "Bäckerei Grünwald"},
        ],
    ),
    benchmark_job(
        NAME, "turn_off_direct_deposit", _turn("debit-card", "Direct Deposit", _ON),
        ["Disable direct deposit on your PayPal Debit Card."],
        own=_AGAIN,
    ),
    benchmark_job(  # there are three other categories
        NAME, "change_cash_back_category", change_cash_back_category,
        ["Change the cash back category on your PayPal Debit Card to '{category}'."],
        own=[{"category": "Fuel"}, {"category": "Apparel"}],
        missing=[{"category": "Travel"}, {"category": "Utilities"}],
    ),
    benchmark_job(
        NAME, "pay_credit", pay_credit,
        [
            "Make a ${amount} payment toward your PayPal Credit balance.",
            "Make the minimum payment of ${amount} on your PayPal Credit balance.",
        ],
        own=[{"amount": "250.00"}, {"amount": "72.15"}, {"amount": "1,000.00"}, {"amount": "640.50"}],
        action="create",
    ),
    benchmark_job(
        NAME, "turn_off_autopay", _turn("credit", "AutoPay", _ON, wander=False),
        ["Disable autopay on your PayPal Credit account."],
        own=_AGAIN,
    ),
    benchmark_job(
        NAME, "save_offer", save_offer, ["Save the {merchant} offer ({offer})."],
        missing=[
            {"merchant": "Peloton", "offer": "7% cashback on all classes"},
            {"merchant": "Best Buy", "offer": "6% cashback on electronics"},
        ],
    ),
    benchmark_job(  # three offers are saved
        NAME, "remove_saved_offer", remove_saved_offer,
        ["Remove the {merchant} offer from your saved offers."],
        own=[{"merchant": "Spotify"}],
        missing=[{"merchant": "Peloton"}, {"merchant": "DoorDash"}],
        action="delete",
    ),
    benchmark_job(
        NAME, "redeem_points", redeem_points, ["Redeem {points} reward points for {reward}."],
        own=[
            {"points": "750", "reward": "PayPal balance"},
            {"points": "300", "reward": "a gift card"},
            {"points": "2,400", "reward": "PayPal balance"},
            {"points": "4,825", "reward": "a gift card"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "buy_gift_card", buy_gift_card,
        [
            (
                "Purchase a ${amount} {merchant} gift card and send it to {email} for '{name}' with the message "
                "'{message}'."
            )
        ],
        own=[
            {
                "amount": "30.00", "merchant": "Netflix", "email": "priya.sharma@email.com", "name": "Priya Sharma",
                "message": "Enjoy the new season",
            },
            {
                "amount": "100.00", "merchant": "Home Depot", "email": "david.kim@email.com", "name": "David Kim",
                "message": "For the new kitchen",
            },
            {
                "amount": "75.00", "merchant": "Nike", "email": "pat.oneill@email.com", "name": "Pat O'Neill",
                "message": "You said \"one more mile\", and it's true!",
            },
            {
                "amount": "15.00", "merchant": "Google Play", "email": "jose.garcia@email.com", "name": "José García",
                "message": "¡Feliz cumpleaños, José!",
            },
        ],
        missing=[
            {
                "amount": "50.00", "merchant": "Costco", "email": "sarah.chen@email.com", "name": "Sarah Chen",
                "message": "Thank you",
            },
            {
                "amount": "35.00", "merchant": "Amazon", "email": "emily.r@email.com", "name": "Emily Rodriguez",
                "message": "Get well soon",
            },
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "buy_gift_card_for_yourself", buy_gift_card_for_yourself,
        [
            (
                "Purchase a ${amount} {merchant} gift card for yourself (Jordan Mitchell, jordan.mitchell@outlook.com) "
                "with no message."
            )
        ],
        own=[
            {"amount": "50.00", "merchant": "Uber"},
            {"amount": "10.00", "merchant": "GameStop"},
            {"amount": "150.00", "merchant": "Sephora"},
            {"amount": "200.00", "merchant": "Best Buy"},
        ],
        missing=[{"amount": "25.00", "merchant": "Costco"}, {"amount": "20.00", "merchant": "Spotify"}],
        action="create",
    ),
    benchmark_job(
        NAME, "turn_off_preference", _turn("preferences", "", _ON),
        ["Disable {setting} in your wallet preferences."],
        given={
            "task_46": {"setting": "Auto-accept Payments"},
            "task_47": {"setting": "Prefer Instant Transfer"},
            "task_49": {"setting": "Payment Notifications"},
            "task_51": {"setting": "Weekly Digest"},
            "task_52": {"setting": "Crypto Alerts"},
            "task_53": {"setting": "Rewards Updates"},
        },
        own=[{"setting": "Transfer Notifications"}, {"setting": "Security Alerts"}],
        missing=[{"setting": "Fraud Hotline Calls"}, {"setting": "Birthday Greetings"}],
    ),
    benchmark_job(
        NAME, "turn_on_promotional_emails", _turn("preferences", "Promotional Emails", _OFF),
        ["Enable promotions email notifications in your wallet preferences."],
        own=_AGAIN,
    ),
]  # fmt: skip

PAYPAL = single_page_application(NAME, JOBS, normalize=_normalize)
