"""Jobs of the career exploration (handshake-career-exploration)."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.single_page.benchmark import benchmark_job, single_page_application
from tests.zoo.zoo_jobs import Given

NAME = "handshake-career-exploration"


def _normalize(state: Any) -> Any:
    """Remove the times at which things are made and changed."""
    if isinstance(state, dict):
        return {
            name: _normalize(each) for name, each in state.items() if name not in ("createdAt", "updatedAt")
        }
    return [_normalize(each) for each in state] if isinstance(state, list) else state


async def _go(page: Page, entry: str, noise: Noise) -> None:
    """Leave the feed, where people begin: below its fold is only text."""
    await noise.wander()
    await page.locator("#sidebarNav").get_by_text(entry, exact=True).click()


async def _press(page: Page, button: str) -> None:
    await page.get_by_role("button", name=button, exact=True).click()


def _having(page: Page, things: str, *texts: str) -> Locator:
    """Return the cards or rows that have each of the texts as a whole text."""
    found = page.locator(things)
    for text in texts:
        found = found.filter(has=page.get_by_text(text, exact=True))
    return found


async def _choose(page: Page, dropdown: Locator, option: str) -> None:
    await dropdown.locator(".dropdown-trigger").click()
    await dropdown.locator(".dropdown-menu").get_by_text(option, exact=True).click()


def _post_of(page: Page, author: str) -> Locator:
    name = page.locator(".feed-post-author-name", has_text=re.compile(rf"^\s*{re.escape(author)}\s*$"))
    return page.locator(".feed-post").filter(has=name)


async def create_post(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await page.get_by_text("Share something with the community...", exact=True).click()
    if "audience" in given:
        await _choose(page, page.locator("#postAudience"), given["audience"])
    await noise.type("#newPostContent", given["content"])
    await _press(page, "Post")


async def like_post(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    start = page.locator(".feed-post-content", has_text=re.compile(rf"^\s*{re.escape(given['start'])}"))
    await _post_of(page, given["author"]).filter(has=start).locator("[data-action=likePost]").click()


async def bookmark_post(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await _post_of(page, given["author"]).locator("[data-action=bookmarkPost]:not(.bookmarked)").click()


async def remove_bookmark(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await _press(page, "Saved")
    await _post_of(page, given["author"]).locator(".post-action-btn.bookmarked").click()


async def _write_comment(page: Page, given: Given, noise: Noise) -> None:
    await noise.wander()
    await _post_of(page, given["author"]).locator(".post-action-btn[data-action=openComments]").click()
    await noise.type("#newCommentText", given["comment"])


async def comment_on_post(page: Page, given: Given, noise: Noise) -> None:
    await _write_comment(page, given, noise)
    await _press(page, "Comment")


async def comment_anonymously(page: Page, given: Given, noise: Noise) -> None:
    await _write_comment(page, given, noise)
    await page.get_by_text("Post anonymously", exact=True).click()
    await _press(page, "Comment")


async def _press_at_employer(page: Page, given: Given, noise: Noise, button: str) -> None:
    await _go(page, "Employers", noise)
    card = _having(page, ".employer-card", given["employer"])
    await card.get_by_role("button", name=button, exact=True).click()


async def follow_employer(page: Page, given: Given, noise: Noise) -> None:
    await _press_at_employer(page, given, noise, "Follow")


async def unfollow_employer(page: Page, given: Given, noise: Noise) -> None:
    await _press_at_employer(page, given, noise, "Following")


async def _open_job(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Jobs", noise)
    card = _having(page, ".job-card", given["title"], given["employer"])
    await card.get_by_text(given["title"], exact=True).click()
    await page.get_by_role("heading", name=given["title"], exact=True).wait_for()
    await noise.wander()


async def save_job(page: Page, given: Given, noise: Noise) -> None:
    await _open_job(page, given, noise)
    await _press(page, "Save")


async def unsave_job(page: Page, given: Given, noise: Noise) -> None:
    await _open_job(page, given, noise)
    await _press(page, "Saved")


async def rsvp_to_event(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Events", noise)
    card = _having(page, ".event-card", given["event"])
    await card.get_by_role("button", name="RSVP", exact=True).click()


async def mark_message_read(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Messages", noise)
    message = _having(page, ".message-row", given["employer"], given["subject"])
    await message.get_by_text(given["subject"], exact=True).click()
    await page.get_by_role("heading", name=given["subject"], exact=True).wait_for()


async def mark_all_messages_read(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Messages", noise)
    await _press(page, "Mark all as read")


async def schedule_appointment(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Career Center", noise)
    await _press(page, "Schedule a New Appointment")
    await _choose(page, page.locator("#schedCategory"), given["category"])
    await _choose(page, page.locator("#schedType"), given["type"])
    if "staff" in given:
        await _choose(page, page.locator("#schedStaff"), given["staff"])
    await _press(page, given["day"])
    await _press(page, given["time"])
    await _choose(page, page.locator("#schedMedium"), given["medium"])
    await noise.type("#schedDetails", given["details"])
    await _press(page, "Request Appointment")


async def _open_appointment(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Career Center", noise)
    staff = page.locator(".appointment-card-meta", has_text=re.compile(rf"^\s*{re.escape(given['staff'])} ·"))
    card = _having(page, ".appointment-card", given["type"]).filter(has=staff)
    if "status" in given:
        card = card.filter(has_text=given["status"])
    await card.get_by_text(given["type"], exact=True).click()


async def cancel_appointment(page: Page, given: Given, noise: Noise) -> None:
    await _open_appointment(page, given, noise)
    await _press(page, "Cancel Appointment")


async def comment_on_appointment(page: Page, given: Given, noise: Noise) -> None:
    await _open_appointment(page, given, noise)
    await noise.type("#appointmentComment", given["comment"])
    await _press(page, "Post Comment")


async def ask_question(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Q&A", noise)
    await noise.type("#newQuestion", given["question"])
    await _press(page, "Submit Question")


async def _open_question(page: Page, given: Given, noise: Noise) -> None:
    await _go(page, "Q&A", noise)
    await page.locator(".qa-card").get_by_text(given["question"], exact=True).click()


async def answer_question(page: Page, given: Given, noise: Noise) -> None:
    await _open_question(page, given, noise)
    await noise.type("#answerText", given["answer"])
    await page.get_by_label(re.compile(rf"^\s*{re.escape(given['visibility'])} \(", re.IGNORECASE)).click()
    await _press(page, "Submit Answer")


async def mark_answer_helpful(page: Page, given: Given, noise: Noise) -> None:
    await _open_question(page, given, noise)
    answer = _having(page, ".answer-card", given["author"])
    await answer.get_by_role("button", name=re.compile("Helpful")).click()


async def _open_profile(page: Page, noise: Noise) -> None:
    await _go(page, "Maya Chen", noise)
    await page.get_by_role("heading", name="My Profile", exact=True).wait_for()
    await noise.wander()


async def edit_profile(page: Page, given: Given, noise: Noise) -> None:
    await _open_profile(page, noise)
    row = _having(page, ".profile-field-row", given["label"])
    await row.get_by_role("button", name="Edit", exact=True).click()
    await noise.retype("#editProfileInput", given["value"])
    await _press(page, "Save")


async def change_visibility(page: Page, given: Given, noise: Noise) -> None:
    await _open_profile(page, noise)
    await _choose(page, page.locator("#profileVisibility"), given["visibility"])


async def _open_interests(page: Page, noise: Noise) -> None:
    await _open_profile(page, noise)
    await _press(page, "Edit Career Interests")


def _group(page: Page, label: str) -> Locator:
    exactly = re.compile(rf"^\s*{re.escape(label)}\s*$", re.IGNORECASE)
    return page.locator(".form-group").filter(has=page.locator(".form-label", has_text=exactly))


async def _save_interests(page: Page) -> None:
    await _press(page, "Save My Career Interests")
    await page.get_by_role("heading", name="My Profile", exact=True).wait_for()


async def _turn(page: Page, given: Given, noise: Noise, box: str) -> None:
    await _open_interests(page, noise)
    row = _group(page, given["label"]).locator(".checkbox-row").filter(has=page.locator(box))
    await row.get_by_text(given["option"], exact=True).click()
    await _save_interests(page)


async def tick_interest(page: Page, given: Given, noise: Noise) -> None:
    await _turn(page, given, noise, ".custom-checkbox:not(.checked)")


async def untick_interest(page: Page, given: Given, noise: Noise) -> None:
    await _turn(page, given, noise, ".custom-checkbox.checked")


async def add_listed_interest(page: Page, given: Given, noise: Noise) -> None:
    await _open_interests(page, noise)
    await _choose(page, _group(page, given["label"]), given["option"])
    await _save_interests(page)


async def remove_listed_interest(page: Page, given: Given, noise: Noise) -> None:
    await _open_interests(page, noise)
    tag = _group(page, given["label"]).locator(
        ".tag", has_text=re.compile(rf"^\s*{re.escape(given['option'])}\s*\u00d7")
    )
    await tag.get_by_role("button").click()
    await _save_interests(page)


async def choose_interest(page: Page, given: Given, noise: Noise) -> None:
    await _open_interests(page, noise)
    await _choose(page, _group(page, given["setting"]), given["choice"])
    await _save_interests(page)


def _appointment(
    category: str, kind: str, date: str, time: str, medium: str, details: str, staff: str | None = None
) -> Given:
    """Return the values of an appointment, with the day as the calendar writes it."""
    month, day, _ = date.replace(",", "").split()
    given = {
        "category": category, "type": kind, "date": date, "day": f"{month[:3]} {day}", "time": time,
        "medium": medium, "details": details,
    }  # fmt: skip
    return given if staff is None else given | {"staff": staff}


_LABELS = {
    "job type preferences": "What type of job are you looking for?",
    "'How can Handshake help?' preferences": "How can Handshake help you?",
    "post-graduation plans": "What are you considering after graduation?",
    "preferred industries": "Industries",
    "preferred job functions": "Job Functions",
    "preferred job roles": "Job Roles",
    "preferred locations": "Where are you interested in living?",
    "profile bio": "Bio",
    "phone number": "Phone",
    "email address": "Email",
    "LinkedIn URL": "LinkedIn",
    "website URL": "Website",
}
"""What the sentences call a group of interests or a field -> what the page calls it."""


def _interest(option: str, group: str) -> Given:
    return {"option": option, "group": group, "label": _LABELS.get(group, group)}


def _field(field: str, value: str) -> Given:
    return {"field": field, "label": _LABELS.get(field, field), "value": value}


JOBS = [
    benchmark_job(
        NAME, "create_post", create_post, ["Create a new feed post with the content '{content}'"],
        own=[
            {"content": "Has anyone done the Microsoft Explore program? I would love to hear about it. #internship"},
            {"content": "Two spare tickets for the design conference in San Francisco, message me."},
            {"content": "I don't think a 4.0 is everything: my mentor's advice was \"build things people use\"."},
            {"content": "Grüße aus Zürich! Searching a roommate for a summer internship — 1 200 € is my limit."},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "create_post_for_audience", create_post,
        ["Create a new feed post with the content '{content}' and set the audience to '{audience}'."],
        own=[
            {"content": "My portfolio is online at last, feedback is welcome.", "audience": "Everyone on Handshake"},
            {"content": "Free pizza in Tresidder at noon for all club members.",
             "audience": "People at your school"},
            {"content": "Who's going to Prof. Manning's talk? Let's sit together.",
             "audience": "People at your school"},
            {"content": 'Café chat about "AI safety" on Thursday — everybody is welcome, señoras y señores!',
             "audience": "Everyone on Handshake"},
        ],
        missing=[
            {"content": "Just for my friends.", "audience": "Only my connections"},
            {"content": "Hello recruiters!", "audience": "Employers"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "like_post", like_post, ["Like the feed post by {author} that starts with '{start}'."],
        own=[
            {"author": "Emma Rodriguez", "start": "Hi everyone! I'm a junior studying HCI"},
            {"author": "Stripe", "start": "Engineering at Stripe"},
            {"author": "Jordan Taylor", "start": "Hot take: You don't need to work"},
            {"author": "Sophia Williams", "start": 'Just finished reading "Cracking the PM Interview"'},
        ],
        missing=[
            {"author": "Olivia Grant", "start": "After 6 months of preparation"},
            {"author": "Nathan Brooks", "start": "Resume tips from someone"},
        ],
    ),
    benchmark_job(
        NAME, "bookmark_post", bookmark_post, ["Bookmark the feed post by {author} about {topic}."],
        own=[
            {"author": "Nathan Brooks", "topic": "career fair tips"},
            {"author": "Microsoft", "topic": "the Imagine Cup 2026"},
            {"author": "Rachel Kim", "topic": "introducing herself"},
            {"author": "McKinsey & Company", "topic": "the campus presentation at Stanford"},
        ],
        missing=[
            {"author": "Olivia Grant", "topic": "her new job"},
            {"author": "Netflix", "topic": "hiring interns"},
        ],
    ),
    benchmark_job(  # three posts are saved: the fourth instance repeats one
        NAME, "remove_bookmark", remove_bookmark,
        ["Remove the bookmark from the saved post by {author} about {topic}."],
        own=[
            {"author": "Kevin O'Brien", "topic": "his study plan"},
            {"author": "David Lee", "topic": "a study group for PM interviews"},
            {"author": "Kevin O'Brien", "topic": "passing his interviews"},
        ],
        missing=[
            {"author": "Emma Rodriguez", "topic": "her portfolio website"},
            {"author": "Olivia Grant", "topic": "her new job"},
        ],
    ),
    benchmark_job(
        NAME, "comment_on_post", comment_on_post,
        ["Add a comment saying '{comment}' to the {author} post about {topic}."],
        own=[
            {"author": "Emma Rodriguez", "topic": "her portfolio website", "comment": "Looks wonderful, well done!"},
            {"author": "Amazon", "topic": "AWS re:Invent", "comment": "Where can I find the recap?"},
            {"author": "Jordan Taylor", "topic": "working at a startup",
             "comment": "That's exactly how I feel, and it's \"ownership\" that counts."},
            {"author": "Anthropic", "topic": "AI safety roles", "comment": "Très intéressant — merci beaucoup!"},
        ],
        missing=[
            {"author": "Netflix", "topic": "hiring interns", "comment": "Is this for juniors, too?"},
            {"author": "Olivia Grant", "topic": "her new job", "comment": "Congratulations!"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "comment_anonymously", comment_anonymously,
        ["Add an anonymous comment saying '{comment}' to the {author} post about {topic}."],
        given={
            "task_6": {
                "author": "McKinsey & Company", "topic": "their campus presentation at Stanford",
                "comment": "How selective is the application process?",
            },
        },
        own=[
            {"author": "Marcus Johnson", "topic": "his first week at Stripe", "comment": "How long are the days?"},
            {"author": "Apple", "topic": "the Pathways intern program", "comment": "Do you sponsor visas?"},
            {"author": "David Lee", "topic": "a study group for PM interviews",
             "comment": "I'm shy, is it fine if I don't talk at first?"},
            {"author": "Teach For America", "topic": "corps applications",
             "comment": 'Does the "résumé" need a photo — or none?'},
        ],
        missing=[
            {"author": "Netflix", "topic": "hiring interns", "comment": "What is the pay?"},
            {"author": "Olivia Grant", "topic": "her new job", "comment": "How many interviews were there?"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "follow_employer", follow_employer, ["Follow {employer} on Handshake."],
        own=[
            {"employer": "Spotify"}, {"employer": "McKinsey & Company"}, {"employer": "Startup Grind Labs"},
            {"employer": "Teach For America"},
        ],
        missing=[{"employer": "Netflix"}, {"employer": "Amazon Music"}],
    ),
    benchmark_job(
        NAME, "unfollow_employer", unfollow_employer, ["Unfollow {employer} on Handshake."],
        own=[{"employer": "Tesla"}, {"employer": "Anthropic"}, {"employer": "Microsoft"}, {"employer": "Meta"}],
        missing=[{"employer": "Netflix"}, {"employer": "Spotify"}],
    ),
    benchmark_job(
        NAME, "save_job", save_job,
        ["Save the '{title}' job at {employer}.", "Save the '{title}' full-time job at {employer}."],
        own=[
            {"title": "Data Science Intern", "employer": "Spotify"},
            {"title": "Engineering Analyst, New Grad", "employer": "Goldman Sachs"},
            {"title": "Machine Learning / AI Intern", "employer": "Apple"},
        ],
        missing=[
            {"title": "Data Science Intern", "employer": "Google"},
            {"title": "Chief Happiness Officer", "employer": "Nike"},
        ],
    ),
    benchmark_job(
        NAME, "unsave_job", unsave_job, ["Unsave the '{title}' job at {employer}."],
        own=[
            {"title": "Machine Learning Engineer Intern", "employer": "Meta"},
            {"title": "Product Manager Intern", "employer": "Amazon"},
            {"title": "Research Engineer Intern", "employer": "Anthropic"},
            {"title": "Product Management Intern", "employer": "Nike"},
        ],
        missing=[
            {"title": "Software Engineer Intern", "employer": "Microsoft"},
            {"title": "Product Manager Intern", "employer": "Netflix"},
        ],
    ),
    benchmark_job(
        NAME, "rsvp_to_event", rsvp_to_event, ["RSVP to the '{event}' event."],
        own=[
            {"event": "McKinsey Campus Presentation - Stanford"},
            {"event": "Google Tech Talk: Building Scalable ML Systems"},
            {"event": "JPM Markets & Trading Panel"},
        ],
        missing=[
            {"event": "Stanford Autumn Career Fair 2026"},
            {"event": "Networking 101: Building Professional Relationships"},
        ],
    ),
    benchmark_job(  # four messages are unread
        NAME, "mark_message_read", mark_message_read,
        ["Mark the message from {employer} with subject '{subject}' as read."],
        own=[
            {"employer": "Meta", "subject": "Exclusive: ML Engineer Intern positions now open"},
            {"employer": "Apple", "subject": "Apple Pathways - Exclusive invitation"},
        ],
        missing=[
            {"employer": "Netflix", "subject": "Your application"},
            {"employer": "Apple", "subject": "Apple Pathways - Reminder"},
        ],
    ),
    benchmark_job(
        NAME, "mark_all_messages_read", mark_all_messages_read, ["Mark all messages as read."],
        own=[{}, {}, {}, {}],
    ),
    benchmark_job(
        NAME, "schedule_appointment", schedule_appointment,
        [
            ("Schedule a new career center appointment with category '{category}', type '{type}', on {date} at {time},"
             " medium '{medium}', with details '{details}'"),
        ],
        given={
            "task_23": _appointment(
                "Career Counseling", "General Career Advising", "March 10, 2026", "9:00 AM", "In Person",
                "Need guidance on choosing between tech and consulting career paths.",
            ),
        },
        own=[
            _appointment("Resume & Cover Letter", "Cover Letter Review", "March 13, 2026", "1:00 PM", "Phone",
                         "My letter for a product role is too long."),
            _appointment("Graduate School", "School Selection", "March 20, 2026", "2:00 PM", "Virtual on Handshake",
                         "Comparing three master programs."),
            _appointment("Networking & Professional Development", "Salary Negotiation", "March 24, 2026", "10:00 AM",
                         "Phone", "I'd like to know what's normal for a first offer."),
            _appointment("Job & Internship Search", "Application Review", "March 28, 2026", "11:00 AM", "In Person",
                         'Application for a "Werkstudent" place in München — is the résumé fine?'),
        ],
        missing=[
            _appointment("Resume & Cover Letter", "Portfolio Review", "March 13, 2026", "1:00 PM", "Phone",
                         "My portfolio has no order."),
            _appointment("Graduate School", "School Selection", "March 15, 2026", "2:00 PM", "In Person",
                         "Comparing two programs."),
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "schedule_appointment_with_staff", schedule_appointment,
        [
            ("Schedule a new career center appointment with category '{category}', type '{type}', staff member '{staff}',"
             " on {date} at {time}, medium '{medium}', with details '{details}'"),
        ],
        given={
            "task_27": _appointment(
                "Interview Preparation", "Mock Interview - Behavioral", "March 11, 2026", "10:00 AM",
                "Virtual on Handshake", "Preparing for Amazon behavioral interviews.", "David Kim",
            ),
        },
        own=[
            _appointment("Resume & Cover Letter", "Resume Review", "March 18, 2026", "2:00 PM", "In Person",
                         "Please look at the order of my projects.", "Michael Okafor"),
            _appointment("Graduate School", "Personal Statement Review", "March 20, 2026", "10:00 AM", "Phone",
                         "First draft of my statement.", "Maria Rodriguez"),
            _appointment("Career Counseling", "Career Change Guidance", "March 26, 2026", "4:00 PM", "In Person",
                         "I'm not sure whether design's the right thing for me.", "Dr. Patricia Williams"),
            _appointment("Networking & Professional Development", "Professional Branding", "March 21, 2026", "9:00 AM",
                         "Virtual on Handshake", 'A "brand" for a naïve beginner — how?', "Sarah Thompson"),
        ],
        missing=[
            _appointment("Resume & Cover Letter", "Resume Review", "March 18, 2026", "2:00 PM", "In Person",
                         "One page or two?", "Robert Hill"),
            _appointment("Interview Preparation", "Case Interview Prep", "March 11, 2026", "11:00 AM", "Phone",
                         "Market sizing.", "James Chen"),
        ],
        action="create",
    ),
    benchmark_job(  # three appointments are upcoming: the fourth instance repeats one
        NAME, "cancel_appointment", cancel_appointment,
        ["Cancel the upcoming '{type}' appointment with {staff}."],
        own=[
            {"type": "Resume Review", "staff": "Michael Okafor"},
            {"type": "Mock Interview - Technical", "staff": "David Kim"},
        ],
        missing=[
            {"type": "Salary Negotiation", "staff": "Sarah Thompson"},
            {"type": "LinkedIn Profile Review", "staff": "Michael Okafor"},
        ],
    ),
    benchmark_job(
        NAME, "comment_on_appointment", comment_on_appointment,
        ["Add a comment saying '{comment}' to the {status} {type} appointment with {staff}."],
        own=[
            {"status": "requested", "type": "Case Interview Prep", "staff": "James Chen",
             "comment": "I will bring two practice cases."},
            {"status": "completed", "type": "Major Exploration", "staff": "Maria Rodriguez",
             "comment": "Thank you, I have chosen my major."},
            {"status": "requested", "type": "Mock Interview - Technical", "staff": "David Kim",
             "comment": "I'd rather use Python, if that's possible."},
            {"status": "completed", "type": "Internship Planning", "staff": "Dr. Patricia Williams",
             "comment": 'I got the "dream" place at Nestlé — thank you!'},
        ],
        missing=[
            {"status": "approved", "type": "Salary Negotiation", "staff": "Sarah Thompson",
             "comment": "I have a written offer now."},
            {"status": "requested", "type": "Case Interview Prep", "staff": "David Kim",
             "comment": "Could we begin earlier?"},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "ask_question", ask_question, ["Submit a new question in the Q&A community: '{question}'"],
        own=[
            {"question": "Which electives help most for a data engineering internship?"},
            {"question": "Is it rude to ask for a referral in the first message? I don't want to seem pushy."},
            {"question": 'Does a "gap year" in Zürich or São Paulo look bad on a résumé?'},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "answer_question", answer_question,
        ["Submit a {visibility} answer to the question '{question}' with the text '{answer}'"],
        own=[
            {"visibility": "fully visible", "question": "Should I accept a return offer or keep interviewing?",
             "answer": "Ask for more time first, most companies give you two weeks."},
            {"visibility": "semi-anonymous",
             "question": "What's the work-life balance like at Meta as a new grad engineer?",
             "answer": "It's fine in most teams, but don't expect quiet weeks before a launch."},
            {"visibility": "fully visible",
             "question": "How do you transition from a liberal arts background to a tech career?",
             "answer": 'Start with a small "naïve" project — then show it to everyone.'},
        ],
        missing=[
            {"visibility": "fully visible", "question": "What is the best laptop for college?",
             "answer": "Any with a good keyboard."},
            {"visibility": "semi-anonymous", "question": "Should I accept a return offer?", "answer": "Yes, I would."},
        ],
        action="create",
    ),
    benchmark_job(
        NAME, "mark_answer_helpful", mark_answer_helpful,
        ["Mark the answer by {author} about {topic} as helpful."],
        given={
            "task_31": {
                "author": "Jordan Taylor", "topic": "salary negotiation tips",
                "question": "How do you negotiate salary for a new grad offer?",
            },
            "task_32": {
                "author": "Tyler Wong", "topic": "the Google SWE internship interview process",
                "question": "What is the Google SWE internship interview process like?",
            },
        },
        own=[
            {"author": "Kevin O'Brien", "topic": "resources for learning system design",
             "question": "What are the best resources for learning system design for interviews?"},
            {"author": "Marcus Johnson", "topic": "return offers",
             "question": "Should I accept a return offer or keep interviewing?"},
            {"author": "Aisha Mohammed", "topic": "diversity programs",
             "question": "What diversity programs do big tech companies offer for underrepresented students?"},
            {"author": "Jessica Lee", "topic": "the JPMorgan summer analyst program",
             "question": "How competitive is the JPMorgan Investment Banking Summer Analyst program?"},
        ],
        missing=[
            {"author": "Olivia Grant", "topic": "return offers",
             "question": "Should I accept a return offer or keep interviewing?"},
            {"author": "Tyler Wong", "topic": "laptops", "question": "What is the best laptop for college?"},
        ],
    ),
    benchmark_job(
        NAME, "edit_profile", edit_profile, ["Update your {field} to '{value}'."],
        given={
            "task_34": _field(
                "profile bio",
                "Aspiring product manager and engineer. Passionate about building AI products that make a difference.",
            ),
            "task_35": _field("phone number", "(650) 555-9999"),
            "task_38": _field("LinkedIn URL", "linkedin.com/in/maya-chen-stanford"),
            "task_39": _field("website URL", "mayachen.io"),
        },
        own=[
            _field("email address", "maya.chen27@alumni.stanford.edu"),
            _field("profile bio", "I'm Maya: \"engineer by day, designer by night\"."),
            _field("profile bio", "Informatikerin aus Zürich — 陈美雅"),
        ],
        missing=[_field("Pronouns", "she/her"), _field("GitHub", "github.com/mayachen")],
    ),
    benchmark_job(  # three other visibilities: the fourth instance repeats one
        NAME, "change_visibility", change_visibility, ["Change your profile visibility to '{visibility}'."],
        own=[{"visibility": "Public"}, {"visibility": "Private"}],
        missing=[{"visibility": "Friends"}, {"visibility": "Alumni"}],
    ),
    benchmark_job(
        NAME, "tick_interest", tick_interest, ["Add '{option}' to your {group} in Career Interests."],
        given={
            "task_40": _interest("Full-time", "job type preferences"),
            "task_42": _interest("Job", "'How can Handshake help?' preferences"),
            "task_44": _interest("Gap year", "post-graduation plans"),
            "task_52": _interest("Cybersecurity", "preferred industries"),
            "task_54": _interest("Marketing", "preferred job functions"),
        },
        own=[
            _interest("Media & Entertainment", "preferred industries"),
            _interest("Grad school", "'How can Handshake help?' preferences"),
        ],
        missing=[_interest("Astrology", "preferred industries"), _interest("Military", "job type preferences")],
    ),
    benchmark_job(
        NAME, "untick_interest", untick_interest, ["Remove '{option}' from your {group} in Career Interests."],
        given={
            "task_41": _interest("Part-time", "job type preferences"),
            "task_43": _interest("Events", "'How can Handshake help?' preferences"),
            "task_45": _interest("Grad school", "post-graduation plans"),
            "task_53": _interest("Finance", "preferred industries"),
            "task_55": _interest("Design", "preferred job functions"),
        },
        own=[
            _interest("Internship", "'How can Handshake help?' preferences"),
            _interest("Artificial Intelligence", "preferred industries"),
        ],
        missing=[_interest("Astrology", "preferred industries"), _interest("Military", "job type preferences")],
    ),
    benchmark_job(
        NAME, "add_listed_interest", add_listed_interest,
        ["Add '{option}' to your {group} in Career Interests."],
        given={
            "task_46": _interest("Frontend Developer", "preferred job roles"),
            "task_48": _interest("Chicago, IL", "preferred locations"),
        },
        own=[
            _interest("UX Researcher", "preferred job roles"), _interest("Salt Lake City, UT", "preferred locations"),
            _interest("Full-Stack Developer", "preferred job roles"), _interest("Boston, MA", "preferred locations"),
        ],
        missing=[_interest("Astronaut", "preferred job roles"), _interest("Zürich", "preferred locations")],
    ),
    benchmark_job(
        NAME, "remove_listed_interest", remove_listed_interest,
        ["Remove '{option}' from your {group} in Career Interests."],
        given={
            "task_47": _interest("UX Designer", "preferred job roles"),
            "task_49": _interest("Austin, TX", "preferred locations"),
        },
        own=[
            _interest("Data Scientist", "preferred job roles"), _interest("Remote", "preferred locations"),
            _interest("Software Engineer", "preferred job roles"),
            _interest("San Francisco, CA", "preferred locations"),
        ],
        missing=[_interest("Astronaut", "preferred job roles"), _interest("Chicago, IL", "preferred locations")],
    ),
    benchmark_job(
        NAME, "choose_interest", choose_interest,
        ["Change your {setting} to '{choice}' in Career Interests."],
        own=[
            {"setting": "career community", "choice": "Engineering"},
            {"setting": "expected graduation date", "choice": "August 2027"},
            {"setting": "career community", "choice": "Nonprofit & Social Impact"},
            {"setting": "expected graduation date", "choice": "May 2028"},
        ],
        missing=[
            {"setting": "career community", "choice": "Sports"},
            {"setting": "expected graduation date", "choice": "December 2031"},
        ],
    ),
]  # fmt: skip

HANDSHAKE = single_page_application(NAME, JOBS, normalize=_normalize)
