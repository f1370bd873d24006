"""Jobs of the invoicing (xero-invoicing)."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given

NAME = "xero-invoicing"


def _normalize(state: Any, inside: str = "") -> Any:
    """Remove the times of notes and of sending, and the ids of lines: drawing a form counts these on."""
    if isinstance(state, dict):
        return {
            name: bool(each) if name == "sentAt" else _normalize(each, name)
            for name, each in state.items()
            if name != "_nextLineItemId" and (inside, name) not in (("notes", "date"), ("lineItems", "id"))
        }
    return [_normalize(each, inside) for each in state] if isinstance(state, list) else state


async def _go(page: Page, entry: str, noise: Noise) -> None:
    await noise.wander()
    await page.locator("#sidebarNav").get_by_text(entry, exact=True).click()
    await page.get_by_role("heading", name=entry, exact=True).wait_for()


async def _press(page: Page, button: str) -> None:
    await page.get_by_role("button", name=button, exact=True).click()


async def _open_listed(page: Page, entry: str, text: str, noise: Noise) -> None:
    await _go(page, entry, noise)
    await noise.wander()
    await page.locator(".data-table").get_by_text(text, exact=True).click()


async def _open_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Invoices", given["number"], noise)


async def _open_quote(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Quotes", given["number"], noise)


async def _find(page: Page, given: Given, noise: Noise) -> None:
    """Open a document with the search field at the top."""
    await noise.type("#searchInput", given["number"])
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="Search Results").wait_for()
    await noise.wander()
    await page.locator(".data-table").get_by_text(given["number"], exact=True).click()


async def _choose(page: Page, dropdown: str, option: str) -> None:
    """Choose the option whose text fits a regular expression."""
    await page.locator(f"{dropdown} .dropdown-trigger").click()
    await page.locator(f"{dropdown} .dropdown-item").filter(has_text=re.compile(option)).click()


async def _choose_contact(page: Page, form: str, contact: str, noise: Noise) -> None:
    await noise.type(f"#{form}-contact-input", contact)
    await page.locator(f"#{form}-contact-menu").get_by_text(contact, exact=True).click()


async def _fill_line(page: Page, form: str, given: Given, noise: Noise) -> None:
    if "item" in given:
        await _choose(page, f"#{form}-item-0", f"^{re.escape(given['item'])} - {re.escape(given['service'])}")
    else:
        await noise.type(f"#{form}-desc-0", given["description"])
    if "quantity" in given:
        await noise.retype(f"#{form}-qty-0", given["quantity"])
    await noise.retype(f"#{form}-price-0", given["price"])
    await _choose(page, f"#{form}-acc-0", rf"^\d+ - {re.escape(given['account'])}$")
    await _choose(page, f"#{form}-tax-0", rf"^{re.escape(given['tax'])} \(")


async def approve(page: Page, given: Given, noise: Noise) -> None:
    await _find(page, given, noise)
    await _press(page, "Approve")


async def submit_invoice_for_approval(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Submit for Approval")


async def mark_invoice_as_sent(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Approve")
    await _press(page, "Send")


async def void_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Void")
    await page.locator("#confirmModal").get_by_role("button", name="Void", exact=True).click()


async def delete_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Delete")
    await page.locator("#confirmModal").get_by_role("button", name="Delete", exact=True).click()


async def copy_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Copy")


async def record_payment(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Add Payment")
    await noise.retype("#pay-amount", given["amount"].replace(",", ""))
    await noise.type("#pay-reference", given["reference"])
    await _press(page, "Record Payment")


async def remove_payment(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    payment = page.get_by_role("row").filter(has_text=f"${given['amount']}")
    await payment.get_by_role("button", name="Remove", exact=True).click()


async def _fill_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Invoices", noise)
    await _press(page, "New Invoice")
    await _choose_contact(page, "inv", given["contact"], noise)
    await noise.retype("#inv-date", given["date"])
    await noise.retype("#inv-due-date", given["due"])
    if "currency" in given:
        await _choose(page, "#inv-currency", f"^{given['currency']} - ")
    await _fill_line(page, "inv", given, noise)
    await _press(page, "Save as Draft")


create_invoice = create_invoice_in_currency = _fill_invoice


async def edit_invoice_reference(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Edit")
    await noise.retype("#inv-reference", given["reference"])
    await _press(page, "Save")


async def edit_invoice_title(page: Page, given: Given, noise: Noise) -> None:
    await _open_invoice(page, given, noise)
    await _press(page, "Edit")
    await noise.retype("#inv-title", given["title"])
    await _press(page, "Save")


async def send(page: Page, given: Given, noise: Noise) -> None:
    await _find(page, given, noise)
    await _press(page, "Send")


async def mark_quote(page: Page, given: Given, noise: Noise) -> None:
    await _open_quote(page, given, noise)
    await _press(page, f"Mark as {given['outcome'].capitalize()}")


async def delete_quote_or_credit_note(page: Page, given: Given, noise: Noise) -> None:
    await _find(page, given, noise)
    await _press(page, "Delete")


async def copy_quote(page: Page, given: Given, noise: Noise) -> None:
    await _open_quote(page, given, noise)
    await _press(page, "Copy")


async def create_invoice_from_quote(page: Page, given: Given, noise: Noise) -> None:
    await _open_quote(page, given, noise)
    await _press(page, "Create Invoice")


async def create_quote(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Quotes", noise)
    await _press(page, "New Quote")
    await _choose_contact(page, "quo", given["contact"], noise)
    await noise.retype("#quo-date", given["date"])
    await noise.retype("#quo-expiry-date", given["expiry"])
    await _fill_line(page, "quo", given, noise)
    await _press(page, "Save as Draft")


async def edit_quote_title(page: Page, given: Given, noise: Noise) -> None:
    await _open_quote(page, given, noise)
    await _press(page, "Edit")
    await noise.retype("#quo-title", given["title"])
    await _press(page, "Save")


async def edit_quote_expiry(page: Page, given: Given, noise: Noise) -> None:
    await _open_quote(page, given, noise)
    await _press(page, "Edit")
    await noise.retype("#quo-expiry-date", given["expiry"])
    await _press(page, "Save")


async def allocate_credit_note(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Credit Notes", given["number"], noise)
    await _press(page, "Allocate to Invoice")
    await _choose(page, "#alloc-invoice", f"^{re.escape(given['invoice'])} - ")
    await noise.retype("#alloc-amount", given["amount"].replace(",", ""))
    await _press(page, "Allocate")


async def _fill_credit_note(page: Page, given: Given, noise: Noise, button: str) -> None:
    await _go(page, "Credit Notes", noise)
    await _press(page, "New Credit Note")
    await _choose_contact(page, "cn", given["contact"], noise)
    await noise.retype("#cn-date", given["date"])
    await _fill_line(page, "cn", given, noise)
    await _press(page, button)


async def create_credit_note(page: Page, given: Given, noise: Noise) -> None:
    await _fill_credit_note(page, given, noise, "Save as Draft")


async def create_approved_credit_note(page: Page, given: Given, noise: Noise) -> None:
    await _fill_credit_note(page, given, noise, "Approve")


async def edit_credit_note_reference(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Credit Notes", given["number"], noise)
    await _press(page, "Edit")
    await noise.retype("#cn-reference", given["reference"])
    await _press(page, "Save")


async def create_repeating_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Repeating Invoices", noise)
    await _press(page, "New Repeating Invoice")
    await _choose_contact(page, "rep", given["contact"], noise)
    await _choose(page, "#rep-frequency", f"^{given['frequency'].capitalize()}$")
    await noise.retype("#rep-start-date", given["start"])
    await _choose(page, "#rep-save-as", f"^{given['mode']}$")
    await _fill_line(page, "rep", given, noise)
    await _press(page, "Save")


async def edit_repeating_frequency(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Repeating Invoices", given["contact"], noise)
    await _choose(page, "#rep-frequency", f"^{given['frequency'].capitalize()}$")
    await _press(page, "Save")


async def edit_repeating_end_date(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Repeating Invoices", given["contact"], noise)
    await noise.retype("#rep-end-date", given["end"])
    await _press(page, "Save")


async def edit_repeating_reference(page: Page, given: Given, noise: Noise) -> None:
    await _open_listed(page, "Repeating Invoices", given["contact"], noise)
    await noise.retype("#rep-reference", given["reference"])
    await _press(page, "Save")


async def delete_repeating_invoice(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Repeating Invoices", noise)
    row = page.get_by_role("row").filter(has=page.get_by_text(given["contact"], exact=True))
    await row.get_by_role("button", name="Delete").click()


async def _theme_card(page: Page, given: Given, noise: Noise) -> Locator:
    await _go(page, "Branding Themes", noise)
    return page.locator(".theme-card").filter(has=page.get_by_text(given["theme"], exact=True))


async def _edit_theme(page: Page, given: Given, noise: Noise) -> None:
    card = await _theme_card(page, given, noise)
    await card.get_by_role("button", name="Edit").click()


async def create_theme(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Branding Themes", noise)
    await _press(page, "New Theme")
    await noise.type("#theme-name", given["theme"])
    await noise.type("#theme-payment-terms", given["terms"])
    await page.get_by_text("Show tax number on invoice").click()
    await page.get_by_text("Show payment advice").click()
    await _press(page, "Create Theme")


async def rename_theme(page: Page, given: Given, noise: Noise) -> None:
    await _edit_theme(page, given, noise)
    await noise.retype("#theme-name", given["name"])
    await _press(page, "Save")


async def set_default_theme(page: Page, given: Given, noise: Noise) -> None:
    card = await _theme_card(page, given, noise)
    await card.get_by_role("button", name="Set Default").click()


async def delete_theme(page: Page, given: Given, noise: Noise) -> None:
    card = await _theme_card(page, given, noise)
    await card.get_by_role("button", name="Delete").click()


async def disable_theme_option(page: Page, given: Given, noise: Noise) -> None:
    await _edit_theme(page, given, noise)
    await page.locator(".toggle-row", has_text=given["option"]).click()
    await _press(page, "Save")


async def edit_theme_terms(page: Page, given: Given, noise: Noise) -> None:
    await _edit_theme(page, given, noise)
    await noise.retype("#theme-terms", given["terms"])
    await _press(page, "Save")


async def _change_field(page: Page, label: str, value: str, noise: Noise) -> None:
    await _go(page, "Invoice Settings", noise)
    await noise.retype(f'.form-group:has(label:text-is("{label}")) input', value)
    await _press(page, "Save Settings")


async def change_number_prefix(page: Page, given: Given, noise: Noise) -> None:
    await _change_field(page, f"{given['kind'].title()} Prefix", given["prefix"], noise)


async def change_next_number(page: Page, given: Given, noise: Noise) -> None:
    await _change_field(page, f"Next {given['kind'].title()} Number", given["number"], noise)


async def change_default(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Invoice Settings", noise)
    row = f'h3:text-is("Default {given["setting"].title()}") + .form-row'
    await _choose(page, row, f"^{re.escape(given['choice'])}$")
    await _press(page, "Save Settings")


async def hide_display_option(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Invoice Settings", noise)
    await page.locator(".toggle-row", has_text=given["option"]).click()
    await _press(page, "Save Settings")


async def _reminder_card(page: Page, given: Given, noise: Noise) -> Locator:
    await _go(page, "Invoice Reminders", noise)
    timing = f"{given['days']} day(s) {given['timing']} due date"
    return page.locator(".reminder-card").filter(has=page.get_by_text(timing, exact=True))


async def switch_reminder(page: Page, given: Given, noise: Noise) -> None:
    card = await _reminder_card(page, given, noise)
    await card.locator(".toggle-switch").click()


async def create_reminder(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Invoice Reminders", noise)
    await _press(page, "Add Reminder")
    await _choose(page, "#rem-timing", f"^{given['timing'].capitalize()} due date")
    await noise.retype("#rem-days", given["days"])
    await noise.type("#rem-subject", given["subject"])
    await noise.type("#rem-body", given["body"])
    await _press(page, "Add Reminder")


async def delete_reminder(page: Page, given: Given, noise: Noise) -> None:
    card = await _reminder_card(page, given, noise)
    await card.get_by_role("button", name="Delete").click()


async def edit_reminder_subject(page: Page, given: Given, noise: Noise) -> None:
    card = await _reminder_card(page, given, noise)
    await card.get_by_role("button", name="Edit").click()
    await noise.retype("#rem-subject", given["subject"])
    await _press(page, "Save")


# UNVERIFIABLE: task_26: its verifier expects another amount due of INV-0049 than the seed can give.
JOBS = [
    benchmark_job(
        NAME, "approve", approve,
        [
            "Approve the draft invoice {number} for {contact}.",
            "Approve the awaiting approval invoice {number} for {contact}.",
            "Approve draft credit note {number} for {contact}.",
        ],
        given={"task_1": {"number": "INV-0058", "contact": "Murray River Winery"}},
        own=[
            {"number": "INV-0059", "contact": "Bright Spark Electrical"},
            {"number": "INV-0060", "contact": "Redback Mining Supplies"},
            {"number": "INV-0057", "contact": "Stellar Education Services"},
        ],
        missing=[
            {"number": "INV-0098", "contact": "Murray River Winery"},
            {"number": "CN-0077", "contact": "Pacific Freight Lines"},
        ],
    ),
    benchmark_job(  # three drafts: the fourth instance repeats one
        NAME, "submit_invoice_for_approval", submit_invoice_for_approval,
        ["Submit draft invoice {number} ({contact}) for approval."],
        own=[
            {"number": "INV-0058", "contact": "Murray River Winery"},
            {"number": "INV-0059", "contact": "Bright Spark Electrical"},
            {"number": "INV-0058", "contact": "Murray River Winery"},
        ],
        missing=[
            {"number": "INV-0091", "contact": "Sapphire Bay Resort"},
            {"number": "INV-0160", "contact": "Redback Mining Supplies"},
        ],
    ),
    benchmark_job(
        NAME, "mark_invoice_as_sent", mark_invoice_as_sent,
        ["Mark the awaiting approval invoice {number} ({contact}) as sent."],
        own=[
            {"number": "INV-0056", "contact": "Horizon Media & Advertising"},
            {"number": "INV-0058", "contact": "Murray River Winery"},
            {"number": "INV-0059", "contact": "Bright Spark Electrical"},
            {"number": "INV-0060", "contact": "Redback Mining Supplies"},
        ],
        missing=[
            {"number": "INV-0084", "contact": "Coastal Living Interiors"},
            {"number": "INV-0570", "contact": "Stellar Education Services"},
        ],
    ),
    benchmark_job(
        NAME, "void_invoice", void_invoice, ["Void invoice {number} for {contact}."],
        own=[
            {"number": "INV-0048", "contact": "Pacific Freight Lines"},
            {"number": "INV-0061", "contact": "Greenfield Organics"},
            {"number": "INV-0051", "contact": "Summit Health Group"},
            {"number": "INV-0046", "contact": "Baxter & Associates Legal"},
            {"number": "INV-0055", "contact": "TechVault Solutions Pty Ltd"},
        ],
        missing=[
            {"number": "INV-0093", "contact": "Sapphire Bay Resort"},
            {"number": "INV-0154", "contact": "Greenfield Organics"},
        ],
    ),
    benchmark_job(  # three drafts: the fourth instance repeats one
        NAME, "delete_invoice", delete_invoice, ["Delete draft invoice {number} ({what})."],
        own=[
            {"number": "INV-0058", "what": "Murray River Winery website redesign"},
            {"number": "INV-0060", "what": "Redback Mining Supplies consulting"},
            {"number": "INV-0058", "what": "Murray River Winery website redesign"},
        ],
        missing=[
            {"number": "INV-0095", "what": "Bright Spark Electrical rewiring"},
            {"number": "INV-0590", "what": "Metro Fabrication Works robots"},
        ],
        action="delete",
    ),
    benchmark_job(
        NAME, "copy_invoice", copy_invoice,
        ["Copy invoice {number} ({what}) to create a new draft invoice."],
        own=[
            {"number": "INV-0049", "what": "Coastal Living Interiors widgets"},
            {"number": "INV-0064", "what": "Northern Territory Power Corp SCADA review"},
            {"number": "INV-0053", "what": "Vanguard Security Systems cloud hosting"},
            {"number": "INV-0066", "what": "Wellington & Partners Accounting consulting"},
            {"number": "INV-0057", "what": "Stellar Education Services training"},
        ],
        missing=[
            {"number": "INV-0090", "what": "Baxter & Associates Legal review"},
            {"number": "INV-0406", "what": "Pacific Freight Lines data migration"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "record_payment", record_payment,
        [
            f"Record {kind} on invoice {{number}} for {{contact}}{end}. Use today's date,"
            " reference '{reference}', and the Business Bank Account."
            for kind, end in (
                ("a payment of ${amount}", ""), ("a full payment of ${amount}", ""),
                ("a partial payment of ${amount}", ""),
                ("a payment for the remaining amount due (${amount})", " to fully pay it"),
            )
        ],
        own=[
            {"number": "INV-0046", "contact": "Baxter & Associates Legal", "amount": "6,655.00",
             "reference": "Baxter's cheque 118"},
            {"number": "INV-0048", "contact": "Pacific Freight Lines", "amount": "1,500.00",
             "reference": "Überweisung 77-A"},
            {"number": "INV-0054", "contact": "Sapphire Bay Resort", "amount": "178.50",
             "reference": 'Deposit "Sapphire"'},
            {"number": "INV-0050", "contact": "Alpha Logistics International", "amount": "13,255.00",
             "reference": "EFT-ALI-2026"},
        ],
        missing=[
            {"number": "INV-0099", "contact": "Vanguard Security Systems", "amount": "250.00",
             "reference": "EFT-404"},
            {"number": "INV-0520", "contact": "Summit Health Group", "amount": "1,000.00", "reference": "EFT-520"},
        ],
    ),
    benchmark_job(
        NAME, "remove_payment", remove_payment,
        [
            "Remove the existing payment of ${amount} from invoice {number} for {contact}.",
            "Remove the existing partial payment of ${amount} from invoice {number} for {contact}.",
        ],
        own=[
            {"number": "INV-0042", "contact": "Pinnacle Construction Group", "amount": "15,840.00"},
            {"number": "INV-0044", "contact": "Greenfield Organics", "amount": "749.00"},
            {"number": "INV-0043", "contact": "TechVault Solutions Pty Ltd", "amount": "8,756.00"},
            {"number": "INV-0063", "contact": "Coastal Living Interiors", "amount": "2,370.25"},
            {"number": "INV-0064", "contact": "Northern Territory Power Corp", "amount": "23,100.00"},
        ],
        missing=[
            {"number": "INV-0096", "contact": "Pinnacle Construction Group", "amount": "4,950.00"},
            {"number": "INV-0045", "contact": "Pinnacle Construction Group", "amount": "7,777.00"},
        ],
        action="delete",
    ),
    benchmark_job(
        NAME, "create_invoice", create_invoice,
        [
            ("Create a new invoice for {contact} with one line item: {quantity} hours of '{service}' ({item}) at ${price}"
            " per hour, using the {account} account and {tax} tax rate. Set the date to {date}, due date to {due}, and"
            " save as draft."),
        ],
        own=[
            {"contact": "Baxter & Associates Legal", "quantity": "6", "service": "UI/UX Design - Hourly Rate",
             "item": "DESIGN-HR", "price": "170.00", "account": "Other Revenue", "tax": "GST Free Income",
             "date": "2026-03-09", "due": "2026-04-08"},
            {"contact": "Metro Fabrication Works", "quantity": "14", "service": "Consulting Services - Per Hour",
             "item": "CONSULT-HR", "price": "245.50", "account": "Consulting & Accounting", "tax": "BAS Excluded",
             "date": "2026-02-16", "due": "2026-03-18"},
            {"contact": "Outback Adventures Tourism", "quantity": "3.5",
             "service": "Software Development - Hourly Rate", "item": "DEV-HOUR", "price": "199.00",
             "account": "Advertising Revenue", "tax": "Tax Exempt", "date": "2026-01-05", "due": "2026-02-28"},
            {"contact": "Atlas Engineering Consultants", "quantity": "22", "service": "UI/UX Design - Hourly Rate",
             "item": "DESIGN-HR", "price": "155.75", "account": "Sales", "tax": "GST on Income",
             "date": "2026-05-01", "due": "2026-05-31"},
        ],
        missing=[
            {"contact": contact, "quantity": "5", "service": "Consulting Services - Per Hour", "item": "CONSULT-HR",
             "price": "250.00", "account": "Sales", "tax": "GST on Income", "date": "2026-03-02",
             "due": "2026-04-01"}
            for contact in ("Harbour City Plumbing", "Blue Gum Nurseries")
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_invoice_in_currency", create_invoice_in_currency,
        [
            ("Create a new invoice for {contact} in {currency} currency with one line item: {quantity} hours of {service}"
            " ({item}) at ${price} per hour. Use the {account} revenue account and {tax} tax rate. Date: {date}, due"
            " date: {due}. Save as draft."),
        ],
        own=[
            {"contact": "Alpha Logistics International", "currency": "SGD", "quantity": "9",
             "service": "Software Development", "item": "DEV-HOUR", "price": "190.00", "account": "Sales",
             "tax": "GST on Income", "date": "2026-03-10", "due": "2026-04-09"},
            {"contact": "Vanguard Security Systems", "currency": "GBP", "quantity": "4", "service": "UI/UX Design",
             "item": "DESIGN-HR", "price": "165.00", "account": "Other Revenue", "tax": "Tax Exempt",
             "date": "2026-02-20", "due": "2026-03-06"},
            {"contact": "Fresh Start Catering Co", "currency": "NZD", "quantity": "7.25",
             "service": "Consulting Services", "item": "CONSULT-HR", "price": "260.00",
             "account": "Advertising Revenue", "tax": "BAS Excluded", "date": "2026-04-15", "due": "2026-05-15"},
            {"contact": "Northern Territory Power Corp", "currency": "EUR", "quantity": "30",
             "service": "Software Development", "item": "DEV-HOUR", "price": "180.50",
             "account": "Consulting & Accounting", "tax": "GST Free Income", "date": "2026-03-31",
             "due": "2026-06-30"},
        ],
        missing=[
            {"contact": contact, "currency": "USD", "quantity": "2", "service": "Consulting Services",
             "item": "CONSULT-HR", "price": "250.00", "account": "Sales", "tax": "GST Free Income",
             "date": "2026-03-02", "due": "2026-04-01"}
            for contact in ("Harbour City Plumbing", "Rocky Mountain Outfitters")
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "edit_invoice_reference", edit_invoice_reference,
        ["Edit invoice {number} ({contact}) and change its reference to '{reference}'."],
        own=[
            {"number": "INV-0056", "contact": "Horizon Media & Advertising", "reference": "HM-DIGITAL-Q2"},
            {"number": "INV-0048", "contact": "Pacific Freight Lines", "reference": "PF-WO-3302 rev 1"},
            {"number": "INV-0059", "contact": "Bright Spark Electrical", "reference": "Danny's order 55"},
            {"number": "INV-0060", "contact": "Redback Mining Supplies", "reference": "Größe «B» 12"},
            {"number": "INV-0046", "contact": "Baxter & Associates Legal", "reference": 'Audit "North wing"'},
        ],
        missing=[
            {"number": "INV-0097", "contact": "Murray River Winery", "reference": "MRW-APRIL"},
            {"number": "INV-0580", "contact": "Summit Health Group", "reference": "SHG-MOVED"},
        ],
    ),
    benchmark_job(
        NAME, "edit_invoice_title", edit_invoice_title,
        ["Edit invoice {number} ({contact}) and change its title to '{title}'."],
        own=[
            {"number": "INV-0058", "contact": "Murray River Winery", "title": "Website and cellar door booking"},
            {"number": "INV-0055", "contact": "TechVault Solutions Pty Ltd", "title": "Cloud Migration Phase 3"},
            {"number": "INV-0053", "contact": "Vanguard Security Systems", "title": "Vanguard's February hosting"},
            {"number": "INV-0057", "contact": "Stellar Education Services", "title": "Formation à Montréal"},
            {"number": "INV-0061", "contact": "Greenfield Organics", "title": 'Hosting and "gold" support'},
        ],
        missing=[
            {"number": "INV-0088", "contact": "Cascade Software Solutions", "title": "April 2026 Sprint"},
            {"number": "INV-0502", "contact": "CloudNine Analytics", "title": "Pipeline clean-up"},
        ],
    ),
    benchmark_job(
        NAME, "send", send, ["Send invoice {number} for {contact}.", "Send draft quote {number} for {contact}."],
        own=[
            {"number": "INV-0049", "contact": "Coastal Living Interiors"},
            {"number": "INV-0062", "contact": "CloudNine Analytics"},
            {"number": "INV-0050", "contact": "Alpha Logistics International"},
            {"number": "INV-0052", "contact": "Cascade Software Solutions"},
        ],
        missing=[
            {"number": "INV-0089", "contact": "Greenfield Organics"},
            {"number": "QU-0125", "contact": "Fresh Start Catering Co"},
        ],
    ),
    benchmark_job(
        NAME, "mark_quote", mark_quote, ["Mark quote {number} ({contact}) as {outcome}."],
        own=[
            {"number": "QU-0024", "contact": "Atlas Engineering Consultants", "outcome": "accepted"},
            {"number": "QU-0024", "contact": "Atlas Engineering Consultants", "outcome": "declined"},
            {"number": "QU-0028", "contact": "Metro Fabrication Works", "outcome": "accepted"},
            {"number": "QU-0023", "contact": "Redback Mining Supplies", "outcome": "declined"},
        ],
        missing=[
            {"number": "QU-0041", "contact": "Redback Mining Supplies", "outcome": "accepted"},
            {"number": "QU-0230", "contact": "Metro Fabrication Works", "outcome": "declined"},
        ],
    ),
    benchmark_job(  # two quotes and one credit note: the fourth instance repeats one
        NAME, "delete_quote_or_credit_note", delete_quote_or_credit_note,
        ["Delete quote {number} ({what}).", "Delete draft credit note {number} for {what}."],
        own=[
            {"number": "QU-0025", "what": "Fresh Start Catering Co online ordering system"},
            {"number": "QU-0026", "what": "Horizon Media & Advertising video streaming platform"},
        ],
        missing=[
            {"number": "QU-0046", "what": "Horizon Media & Advertising podcast studio"},
            {"number": "CN-0111", "what": "Pacific Freight Lines refund"},
        ],
        action="delete",
    ),
    benchmark_job(
        NAME, "copy_quote", copy_quote, ["Copy quote {number} ({what}) to create a new draft quote."],
        own=[
            {"number": "QU-0028", "what": "Metro Fabrication Works factory automation"},
            {"number": "QU-0022", "what": "Pinnacle Construction Group CRM integration"},
            {"number": "QU-0027", "what": "Stellar Education Services LMS training"},
            {"number": "QU-0029", "what": "Alpha Logistics International tracking phase 2"},
            {"number": "QU-0026", "what": "Horizon Media & Advertising video streaming platform"},
        ],
        missing=[
            {"number": "QU-0050", "what": "Atlas Engineering Consultants bridge survey"},
            {"number": "QU-0240", "what": "Summit Health Group intake forms"},
        ],
        action="create",
    ),
    benchmark_job(  # two accepted quotes: the other instances repeat them
        NAME, "create_invoice_from_quote", create_invoice_from_quote,
        ["Create a draft invoice from the accepted quote {number} for {contact} ({title}). Do not approve it."],
        own=[
            {"number": "QU-0022", "contact": "Pinnacle Construction Group", "title": "CRM Integration Phase 3"},
            {"number": "QU-0029", "contact": "Alpha Logistics International", "title": "Logistics Tracking Phase 2"},
        ],
        missing=[
            {"number": "QU-0052", "contact": "Pinnacle Construction Group", "title": "CRM Integration Phase 4"},
            {"number": "QU-0290", "contact": "Metro Fabrication Works", "title": "Robot Cell"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_quote", create_quote,
        [
            ("Create a new quote for {contact} with one line item: {quantity} hours of {service} ({item}) at ${price} per"
            " hour, using the {account} revenue account and {tax} tax rate. Set date to {date}, expiry to {expiry}. Save"
            " as draft."),
        ],
        own=[
            {"contact": "Greenfield Organics", "quantity": "16", "service": "UI/UX Design", "item": "DESIGN-HR",
             "price": "160.00", "account": "Sales", "tax": "GST on Income", "date": "2026-03-12",
             "expiry": "2026-04-11"},
            {"contact": "Sapphire Bay Resort", "quantity": "5", "service": "Software Development", "item": "DEV-HOUR",
             "price": "185.00", "account": "Other Revenue", "tax": "Tax Exempt", "date": "2026-02-24",
             "expiry": "2026-03-26"},
            {"contact": "Horizon Media & Advertising", "quantity": "2.5", "service": "Consulting Services",
             "item": "CONSULT-HR", "price": "275.00", "account": "Advertising Revenue", "tax": "BAS Excluded",
             "date": "2026-04-20", "expiry": "2026-06-01"},
            {"contact": "Summit Health Group", "quantity": "40", "service": "Software Development",
             "item": "DEV-HOUR", "price": "172.40", "account": "Consulting & Accounting", "tax": "GST Free Income",
             "date": "2026-01-19", "expiry": "2026-12-31"},
        ],
        missing=[
            {"contact": contact, "quantity": "3", "service": "UI/UX Design", "item": "DESIGN-HR", "price": "165.00",
             "account": "Sales", "tax": "GST on Income", "date": "2026-03-02", "expiry": "2026-04-01"}
            for contact in ("Harbour City Plumbing", "Lakeside Pottery")
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "edit_quote_title", edit_quote_title,
        ["Edit quote {number} ({contact}) and change its title to '{title}'."],
        own=[
            {"number": "QU-0023", "contact": "Redback Mining Supplies", "title": "Pit-to-port data migration"},
            {"number": "QU-0028", "contact": "Metro Fabrication Works", "title": "Factory floor dashboards"},
            {"number": "QU-0024", "contact": "Atlas Engineering Consultants", "title": "Atlas's shared workspace"},
            {"number": "QU-0025", "contact": "Fresh Start Catering Co", "title": "Café & crème online"},
            {"number": "QU-0023", "contact": "Redback Mining Supplies", "title": 'Migration, "wave two"'},
        ],
        missing=[
            {"number": "QU-0043", "contact": "Fresh Start Catering Co", "title": "Menu Planner"},
            {"number": "QU-0250", "contact": "Coastal Living Interiors", "title": "Showroom Kiosk"},
        ],
    ),
    benchmark_job(
        NAME, "edit_quote_expiry", edit_quote_expiry,
        ["Edit quote {number} ({contact}) and change its expiry date to {expiry}."],
        own=[
            {"number": "QU-0023", "contact": "Redback Mining Supplies", "expiry": "2026-05-15"},
            {"number": "QU-0028", "contact": "Metro Fabrication Works", "expiry": "2026-06-01"},
            {"number": "QU-0024", "contact": "Atlas Engineering Consultants", "expiry": "2026-12-31"},
            {"number": "QU-0025", "contact": "Fresh Start Catering Co", "expiry": "2027-01-09"},
        ],
        missing=[
            {"number": "QU-0044", "contact": "Fresh Start Catering Co", "expiry": "2026-04-30"},
            {"number": "QU-0253", "contact": "Summit Health Group", "expiry": "2026-07-07"},
        ],
    ),
    benchmark_job(
        NAME, "allocate_credit_note", allocate_credit_note,
        [
            "Allocate ${amount} of credit note {number} to invoice {invoice} for {contact}.",
            "Allocate the full amount (${amount}) of credit note {number} to invoice {invoice} for {contact}.",
        ],
        own=[
            {"number": "CN-0012", "amount": "500.00", "invoice": "INV-0062", "contact": "CloudNine Analytics"},
            {"number": "CN-0009", "amount": "100.00", "invoice": "INV-0049", "contact": "Coastal Living Interiors"},
            {"number": "CN-0012", "amount": "1,250.50", "invoice": "INV-0047", "contact": "CloudNine Analytics"},
            {"number": "CN-0012", "amount": "2,035.00", "invoice": "INV-0062", "contact": "CloudNine Analytics"},
        ],
        missing=[
            {"number": "CN-0029", "amount": "50.00", "invoice": "INV-0049", "contact": "Coastal Living Interiors"},
            {"number": "CN-0012", "amount": "300.00", "invoice": "INV-0092", "contact": "CloudNine Analytics"},
        ],
    ),
    benchmark_job(
        NAME, "create_credit_note", create_credit_note,
        [
            ("Create a new credit note for {contact} with one line item: '{description}' for {quantity} unit at ${price},"
            " using the {account} account and {tax} tax rate. Set date to {date} and save as draft."),
        ],
        own=[
            {"contact": "Sapphire Bay Resort", "description": "Booking system outage", "quantity": "2",
             "price": "75.50", "account": "Other Revenue", "tax": "GST Free Income", "date": "2026-03-15"},
            {"contact": "Coastal Living Interiors", "description": "Widgets returned", "quantity": "12",
             "price": "24.95", "account": "Advertising Revenue", "tax": "BAS Excluded", "date": "2026-02-27"},
            {"contact": "Bright Spark Electrical", "description": "Danny's goodwill credit", "quantity": "1",
             "price": "60.00", "account": "Sales", "tax": "Tax Exempt", "date": "2026-04-02"},
            {"contact": "Wellington & Partners Accounting", "description": "Rückerstattung für Schulung",
             "quantity": "3", "price": "220.00", "account": "Consulting & Accounting", "tax": "GST on Income",
             "date": "2026-01-30"},
            {"contact": "Pacific Freight Lines", "description": 'Cable "USB-C 2m" faulty', "quantity": "4",
             "price": "12.50", "account": "Sales", "tax": "GST on Income", "date": "2026-03-28"},
        ],
        missing=[
            {"contact": contact, "description": "Refund of deposit", "quantity": "1", "price": "80.00",
             "account": "Sales", "tax": "GST on Income", "date": "2026-03-02"}
            for contact in ("Harbour City Plumbing", "Silver Birch Dental")
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_approved_credit_note", create_approved_credit_note,
        [
            ("Create a new credit note for {contact} with one line item: '{description}' for {quantity} hours at ${price},"
            " using the {account} revenue account and {tax} tax rate. Set date to {date} and approve it directly (not"
            " as draft)."),
        ],
        own=[
            {"contact": "Murray River Winery", "description": "Redesign hours not used", "quantity": "6",
             "price": "165.00", "account": "Sales", "tax": "GST Free Income", "date": "2026-03-05"},
            {"contact": "Alpha Logistics International", "description": "Late delivery", "quantity": "2.5",
             "price": "180.00", "account": "Other Revenue", "tax": "Tax Exempt", "date": "2026-02-18"},
            {"contact": "Stellar Education Services", "description": "Trainer's travel credit", "quantity": "3",
             "price": "90.00", "account": "Advertising Revenue", "tax": "BAS Excluded", "date": "2026-04-21"},
            {"contact": "Southern Cross Veterinary", "description": "Días no trabajados", "quantity": "8",
             "price": "250.00", "account": "Consulting & Accounting", "tax": "GST on Income", "date": "2026-05-06"},
        ],
        missing=[
            {"contact": contact, "description": "Rate adjustment", "quantity": "2", "price": "25.00",
             "account": "Sales", "tax": "GST on Income", "date": "2026-03-02"}
            for contact in ("Harbour City Plumbing", "Old Mill Bakery")
        ],
        action="create",
    ),
    benchmark_job(  # one credit note can be edited
        NAME, "edit_credit_note_reference", edit_credit_note_reference,
        ["Edit credit note {number} ({contact}) and change its reference to '{reference}'."],
        own=[
            {"number": "CN-0011", "contact": "Pacific Freight Lines", "reference": reference}
            for reference in ("PF-CREDIT-01", "Outage 14 March", "Sandra O'Brien agreed", "Gutschrift für März")
        ],
        missing=[
            {"number": "CN-0031", "contact": "Pacific Freight Lines", "reference": "March-credit"},
            {"number": "CN-0110", "contact": "CloudNine Analytics", "reference": "Q2 scope"},
        ],
    ),
    benchmark_job(
        NAME, "create_repeating_invoice", create_repeating_invoice,
        [
            ("Create a new {frequency} repeating invoice for {contact} with one line item: {service} ({item}) at ${price},"
            " using the {account} account and {tax} tax rate. Set start date to {start} and save-as mode to {mode}."),
        ],
        own=[
            {"frequency": "weekly", "contact": "Outback Adventures Tourism", "service": "Software License - Annual",
             "item": "LICENSE-AN", "price": "1150.00", "account": "Other Revenue", "tax": "BAS Excluded",
             "start": "2026-05-04", "mode": "Approved for Sending"},
            {"frequency": "annually", "contact": "Baxter & Associates Legal", "service": "Security Audit - Fixed Fee",
             "item": "AUDIT", "price": "5250.00", "account": "Consulting & Accounting", "tax": "GST on Income",
             "start": "2026-07-01", "mode": "Approved"},
            {"frequency": "fortnightly", "contact": "Metro Fabrication Works",
             "service": "Project Management - Day Rate", "item": "PM-DAY", "price": "1400.00", "account": "Sales",
             "tax": "Tax Exempt", "start": "2026-04-13", "mode": "Draft"},
        ],
        missing=[
            {"frequency": "monthly", "contact": contact, "service": "Cloud Hosting", "item": "HOSTING-MO",
             "price": "299.00", "account": "Sales", "tax": "GST on Income", "start": "2026-04-01", "mode": "Draft"}
            for contact in ("Harbour City Plumbing", "Red Kite Aviation")
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "edit_repeating_frequency", edit_repeating_frequency,
        ["Edit the repeating invoice for {contact} and change its frequency from {old} to {frequency}."],
        own=[
            {"contact": "Greenfield Organics", "old": "monthly", "frequency": "weekly"},
            {"contact": "Summit Health Group", "old": "quarterly", "frequency": "annually"},
            {"contact": "Vanguard Security Systems", "old": "monthly", "frequency": "fortnightly"},
            {"contact": "Cascade Software Solutions", "old": "monthly", "frequency": "quarterly"},
            {"contact": "CloudNine Analytics", "old": "monthly", "frequency": "annually"},
        ],
        missing=[
            {"contact": "Sapphire Bay Resort", "old": "monthly", "frequency": "weekly"},
            {"contact": "Harbour City Plumbing", "old": "monthly", "frequency": "quarterly"},
        ],
    ),
    benchmark_job(
        NAME, "edit_repeating_end_date", edit_repeating_end_date,
        ["Edit the repeating invoice for {contact} and set its end date to {end}."],
        own=[
            {"contact": "Cascade Software Solutions", "end": "2026-11-30"},
            {"contact": "CloudNine Analytics", "end": "2027-03-31"},
            {"contact": "Vanguard Security Systems", "end": "2028-01-15"},
            {"contact": "Summit Health Group", "end": "2027-12-01"},
        ],
        missing=[
            {"contact": "Pacific Freight Lines", "end": "2027-06-30"},
            {"contact": "Harbour City Plumbing", "end": "2026-12-31"},
        ],
    ),
    benchmark_job(
        NAME, "edit_repeating_reference", edit_repeating_reference,
        ["Edit the repeating invoice for {contact} and change its reference to '{reference}'."],
        own=[
            {"contact": "Greenfield Organics", "reference": "Hosting, support and backup"},
            {"contact": "Vanguard Security Systems", "reference": "VSS-2026"},
            {"contact": "Summit Health Group", "reference": "Dr. Sharma's support plan"},
            {"contact": "CloudNine Analytics", "reference": "Mensualité n° 9 — données"},
        ],
        missing=[
            {"contact": "Murray River Winery", "reference": "Cellar hosting"},
            {"contact": "Harbour City Plumbing", "reference": "HCP-MONTHLY"},
        ],
    ),
    benchmark_job(
        NAME, "delete_repeating_invoice", delete_repeating_invoice,
        ["Delete the repeating invoice for {contact}.", "Delete the draft repeating invoice for {contact}."],
        own=[
            {"contact": "Greenfield Organics"}, {"contact": "Vanguard Security Systems"},
            {"contact": "CloudNine Analytics"}, {"contact": "Cascade Software Solutions"},
        ],
        missing=[{"contact": "Fresh Start Catering Co"}, {"contact": "Harbour City Plumbing"}],
        action="delete",
    ),
    benchmark_job(
        NAME, "create_theme", create_theme,
        [
            ("Create a new branding theme called '{theme}' with payment terms '{terms}' and no terms and conditions."
            " Enable both show tax number and show payment advice."),
        ],
        own=[
            {"theme": "Government", "terms": "Net 45 days by purchase order"},
            {"theme": "Export", "terms": "Payment in advance"},
            {"theme": "Sarah's Special", "terms": "Don't pay before the goods arrive"},
            {"theme": "Zürich Büro", "terms": "Zahlbar innert 30 Tagen — netto"},
            {"theme": 'The "Gold" Theme', "terms": "Net 7 days, 2% discount"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "rename_theme", rename_theme, ["Edit the '{theme}' branding theme and change its name to '{name}'."],
        own=[
            {"theme": "Simple Clean", "name": "Plain"},
            {"theme": "Professional Services", "name": "Consulting 2026"},
            {"theme": "Standard", "name": "Demo Company's Own"},
            {"theme": "Retail", "name": "Détail & Façade"},
        ],
        missing=[{"theme": "Midnight Blue", "name": "Noon"}, {"theme": "Wholesale", "name": "Wholesale Plus"}],
    ),
    benchmark_job(  # three other themes: the fourth instance repeats one
        NAME, "set_default_theme", set_default_theme, ["Set the '{theme}' branding theme as the default theme."],
        own=[{"theme": "Retail"}, {"theme": "Simple Clean"}, {"theme": "Retail"}],
        missing=[{"theme": "Corporate Letterhead"}, {"theme": "Wholesale"}],
    ),
    benchmark_job(  # three themes can be deleted: the fourth instance repeats one
        NAME, "delete_theme", delete_theme, ["Delete the '{theme}' branding theme."],
        own=[{"theme": "Retail"}, {"theme": "Professional Services"}, {"theme": "Retail"}],
        missing=[{"theme": "Midnight Blue"}, {"theme": "Festive"}],
        action="delete",
    ),
    benchmark_job(
        NAME, "disable_theme_option", disable_theme_option,
        ["Edit the '{theme}' branding theme and disable the '{option}' option."],
        own=[
            {"theme": "Professional Services", "option": "Show Payment Advice"},
            {"theme": "Retail", "option": "Show Tax Number"},
            {"theme": "Standard", "option": "Show Payment Advice"},
            {"theme": "Professional Services", "option": "Show Tax Number"},
        ],
        missing=[
            {"theme": "Wholesale", "option": "Show Tax Number"},
            {"theme": "Retail", "option": "Show Company Logo"},
        ],
    ),
    benchmark_job(
        NAME, "edit_theme_terms", edit_theme_terms,
        ["Edit the '{theme}' branding theme and change its terms and conditions to '{terms}'"],
        own=[
            {"theme": "Simple Clean", "terms": "Goods remain our property until paid in full."},
            {"theme": "Retail", "terms": "Exchange within 14 days with receipt."},
            {"theme": "Standard", "terms": "We're closed on public holidays; the customer's order waits until then."},
            {"theme": "Simple Clean", "terms": 'Prices are "ex works" — Gerichtsstand ist Zürich.'},
        ],
        missing=[
            {"theme": "Midnight Blue", "terms": "All sales are final."},
            {"theme": "Export", "terms": "Delivered at place."},
        ],
    ),
    benchmark_job(
        NAME, "change_number_prefix", change_number_prefix,
        ["Change the {kind} number prefix in Invoice Settings to '{prefix}'."],
        own=[
            {"kind": "quote", "prefix": "OFFER/"}, {"kind": "invoice", "prefix": "Demo's-"},
            {"kind": "credit note", "prefix": "GUTSCHRIFT-Ä-"},
        ],
        missing=[{"kind": "purchase order", "prefix": "PO-"}, {"kind": "receipt", "prefix": "RCT-"}],
    ),
    benchmark_job(
        NAME, "change_next_number", change_next_number,
        ["Change the next {kind} number in Invoice Settings to {number}."],
        own=[
            {"kind": "quote", "number": "250"}, {"kind": "credit note", "number": "40"},
            {"kind": "invoice", "number": "1200"}, {"kind": "quote", "number": "31"},
        ],
        missing=[{"kind": "purchase order", "number": "500"}, {"kind": "receipt", "number": "9"}],
    ),
    benchmark_job(
        NAME, "change_default", change_default, ["Change the default {setting} in Invoice Settings to '{choice}'."],
        own=[
            {"setting": "due date", "choice": "of the current month"},
            {"setting": "tax mode", "choice": "No Tax"},
            {"setting": "due date", "choice": "day(s) after end of invoice month"},
        ],
        missing=[
            {"setting": "tax mode", "choice": "Tax Deferred"},
            {"setting": "due date", "choice": "of the next quarter"},
        ],
    ),
    benchmark_job(  # three options: the fourth instance repeats one
        NAME, "hide_display_option", hide_display_option,
        ["Disable the '{option}' display option in Invoice Settings."],
        own=[{"option": "Show Discount Column"}],
        missing=[{"option": "Show Page Numbers"}, {"option": "Show Region Column"}],
    ),
    benchmark_job(  # three reminders are enabled: the fourth instance repeats one
        NAME, "disable_reminder", switch_reminder,
        ["Disable the invoice reminder that is configured for {days} days {timing} the due date."],
        own=[
            {"days": "14", "timing": "after"}, {"days": "1", "timing": "after"}, {"days": "14", "timing": "after"},
        ],
        missing=[{"days": "3", "timing": "before"}, {"days": "60", "timing": "after"}],
    ),
    benchmark_job(  # one reminder is disabled: all instances are the same
        NAME, "enable_reminder", switch_reminder,
        ["Enable the invoice reminder that is configured for {days} days {timing} the due date."],
        own=[{"days": "30", "timing": "after"}] * 3,
        missing=[{"days": "5", "timing": "before"}, {"days": "90", "timing": "after"}],
    ),
    benchmark_job(
        NAME, "create_reminder", create_reminder,
        [
            ("Create a new invoice reminder for {days} days {timing} the due date with the subject '{subject}' and body"
            " '{body}' Enable it and include the invoice PDF."),
        ],
        own=[
            {"days": "3", "timing": "before", "subject": "Three days left - {InvoiceNumber}",
             "body": "Hello {ContactName}, {AmountDue} is due on {DueDate}."},
            {"days": "45", "timing": "after", "subject": "Last call for {InvoiceNumber}",
             "body": "Please pay {AmountDue} today."},
            {"days": "10", "timing": "after", "subject": "We haven't heard from you",
             "body": "Dear {ContactName}, we didn't get {AmountDue} yet. Is everything all right?"},
            {"days": "2", "timing": "before", "subject": "Fällig: {InvoiceNumber}",
             "body": 'Grüezi {ContactName}, die Rechnung "{InvoiceNumber}" ist bald fällig — merci!'},
        ],
        action="create",
    ),
    benchmark_job(  # four reminders
        NAME, "delete_reminder", delete_reminder,
        ["Delete the invoice reminder that is configured for {days} days {timing} the due date."],
        own=[
            {"days": "7", "timing": "before"}, {"days": "30", "timing": "after"}, {"days": "1", "timing": "after"},
        ],
        missing=[{"days": "4", "timing": "before"}, {"days": "21", "timing": "after"}],
        action="delete",
    ),
    benchmark_job(
        NAME, "edit_reminder_subject", edit_reminder_subject,
        [
            "Edit the invoice reminder for {days} days {timing} the due date and change its subject to '{subject}'.",
            "Edit the invoice reminder for {days} day {timing} the due date and change its subject to '{subject}'.",
        ],
        own=[
            {"days": "14", "timing": "after", "subject": "Still unpaid - {InvoiceNumber}"},
            {"days": "7", "timing": "before", "subject": "One week left to pay {AmountDue}"},
            {"days": "30", "timing": "after", "subject": "It's the final notice"},
            {"days": "14", "timing": "after", "subject": 'Zweite Mahnung für "{InvoiceNumber}"'},
        ],
        missing=[
            {"days": "5", "timing": "before", "subject": "Nearly due"},
            {"days": "60", "timing": "after", "subject": "Handed to collections"},
        ],
    ),
]  # fmt: skip

XERO = single_page_application(NAME, JOBS, normalize=_normalize)
