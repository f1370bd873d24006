# The same six requirements as in spadeworks.xlsx.
Feature: Spadeworks

  @smoke @account
  Scenario: sign_in: Sign in with the password
    Given I am on "/login"
    When I fill "Email" with "demo@spadeworks.example"
    Then it has the value "demo@spadeworks.example"
    When I fill "Password" with "{secret:SPADEWORKS_PASSWORD}"
    Then it is filled
    When I click "Sign In"
    Then I am taken to "Dashboard"
    And the URL is "/dashboard"
    And I see "Total Calls"
    And the console has no errors

  # The cookie notice lies over the buttons at the end of a page until it is answered.
  @agents
  Scenario: create_agent: Create a voice agent
    Given I am on "/agent"
    And I am signed in with "login"
    When I click "Decline" in "Cookie notice"
    Then I do not see "We value your privacy"
    When I click "Create Agent"
    Then I am taken to "Create Agent"
    And I see the heading "Agent Info"
    And the console has no errors
    When I fill "Agent Name" with "Nova {unique}"
    Then it has the value "Nova {unique}"
    When I select "Spanish" from "Language"
    Then "Spanish" is selected
    When I check "Bright" in "Voice"
    Then it is checked
    When I type "Hola, soy Nova." into "Greeting"
    Then it is filled
    When I fill "Expiry date" with "12/31/2030"
    Then it is filled
    When I check "Record calls"
    Then it is checked
    When I click "Save Changes"
    Then I am taken to "Agents"
    And I see the message "Agent created successfully"
    And I see the message "“Nova {unique}” is ready to take calls."
    And the console has no errors
    When I go to "/agent?q=Nova%20{unique}"
    Then I see "Nova {unique}"
    And I see "1–1 of 1"

  @agents @validation
  Scenario: validation_error: An agent needs a name
    Given I am on "/agent/create"
    And I am signed in with "login"
    When I click "Decline" in "Cookie notice"
    Then I do not see "We value your privacy"
    When I select "Hindi" from "Language"
    Then "Hindi" is selected
    When I click "Save Changes"
    Then I stay on the page
    And I see the heading "Create Agent"
    And the "Agent Name" field is invalid with "Enter a name for the agent"
    And "Hindi" is selected in "Language"
    When I fill "Agent Name" with "Orion {unique}"
    Then it has the value "Orion {unique}"
    And I do not see "Enter a name for the agent"

  @agents
  Scenario: delete_agent: Delete an agent, and confirm it
    Given I am on "/agent/create"
    And I am signed in with "login"
    When I click "Decline" in "Cookie notice"
    Then I do not see "We value your privacy"
    When I fill "Agent Name" with "Short-lived {unique}"
    Then it is filled
    When I select "English (US)" from "Language"
    Then "English (US)" is selected
    When I click "Save Changes"
    Then I am taken to "Agents"
    And I see the heading "Agents"
    When I go to "/agent?q=Short-lived%20{unique}"
    Then I see "1–1 of 1"
    When I click "Short-lived {unique}"
    Then I am taken to "Short-lived {unique}"
    And I see "This agent has not taken a call today."
    When I click "Edit"
    Then I am taken to "Edit Agent"
    When I click "Delete"
    Then the "Delete agent?" dialog opens
    And I see "“Short-lived {unique}” will stop taking calls at once."
    When I click "Delete agent"
    Then I am taken to "Agents"
    And I see the message "Agent deleted"
    And I see the message "“Short-lived {unique}” takes no more calls."
    When I go to "/agent?q=Short-lived%20{unique}"
    Then I see the heading "No agents match “Short-lived {unique}”"

  @campaigns
  Scenario: campaign_three_steps: Launch a campaign in three steps
    Given I am on "/campaign"
    And I am signed in with "login"
    When I click "Decline" in "Cookie notice"
    Then I do not see "We value your privacy"
    When I click "New campaign"
    Then I am taken to "Create Campaign"
    And I see the heading "Campaign details"
    When I fill "Campaign name" with "Autumn {unique}"
    Then it has the value "Autumn {unique}"
    When I select "Amelia Hart" from "Agent"
    Then "Amelia Hart" is selected
    When I fill "Start date" with "12/01/2030"
    Then it has the value "12/01/2030"
    When I click "Continue"
    Then the URL is "/campaign/create/audience"
    And I see the heading "Who should be called?"
    When I check "All contacts" in "Contact list"
    Then it is checked
    When I fill "Daily limit" with "100"
    Then it has the value "100"
    When I click "Add filter"
    Then the "Add a filter" dialog opens
    When I select "Country" from "Field" in "Add a filter"
    Then "Country" is selected
    When I fill "Value" in "Add a filter" with "Spain"
    Then it has the value "Spain"
    When I click "Apply filter"
    Then the dialog closes
    And I see "Country: Spain"
    When I click "Continue"
    Then the URL is "/campaign/create/review"
    And I see the heading "Ready to go?"
    And the "Daily limit" element says "100 calls"
    And the "People to reach" element says "24"
    When I click "Launch Campaign"
    Then the "Launch campaign?" dialog opens
    And I see "Amelia Hart will call 24 people, at most 100 a day, from 12/01/2030 on."
    When I click "Launch now"
    Then I am taken to "Autumn {unique}"
    And I see the message "Campaign launched"
    And I see "0 of 24"
    And I see "people reached"

  # The contacts may be there from an earlier run: the first import may find them new or not, the second skips all three.
  @contacts
  Scenario: import_contacts: Import contacts, and skip those who are there
    Given I am on "/contacts"
    And I am signed in with "login"
    When I click "Decline" in "Cookie notice"
    Then I do not see "We value your privacy"
    When I click "Import contacts"
    Then I am taken to "Import Contacts"
    When I upload "files/contacts.csv" to "Choose CSV file"
    Then I see "contacts.csv"
    When I check "Skip duplicates"
    Then it is checked
    When I click "Import" in "Your file"
    Then I am taken to "Contacts"
    And I see the message "Imported"
    When I go to "/contacts?page=5"
    Then I see "Ada Byron"
    And I see "ken.mori@morilogistics.example"
    And I see "+961 1 555 019"
    When I click "Import contacts"
    Then I am taken to "Import Contacts"
    When I upload "files/contacts.csv" to "Choose CSV file"
    Then I see "contacts.csv"
    When I click "Import" in "Your file"
    Then I am taken to "Contacts"
    And I see the message "Imported 0 contacts"
    And I see the message "3 duplicates were skipped."
    And I see "51 contacts"
