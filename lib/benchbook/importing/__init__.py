"""Campaigns of another machine or checkout, taken into this one's records.

foreign_files     where they come from: a folder here, or one on a host; which of its files belong to a campaign
foreign_campaign  what is checked before one of them is taken
import_command    `benchbook import`: fetch, check, put in its place, campaign by campaign
"""
