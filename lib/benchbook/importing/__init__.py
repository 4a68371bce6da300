"""What was measured elsewhere, taken into this project's records: campaigns, and logs.

foreign_files     where they come from: a folder here, or one on a host; which of its files belong to a campaign
foreign_campaign  what is checked before one of them is taken
import_command    `benchbook import campaign`: fetch, check, put in its place, campaign by campaign
logs              `benchbook import logs`: outputs of load generators as a campaign
logs_report       the report that such a campaign belongs to
"""
