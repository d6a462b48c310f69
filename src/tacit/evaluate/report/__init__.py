"""The report of a sweep: one page that opens without a network, and its data."""

from tacit.evaluate.report.page import Sensitivity, sensitivity_of, write_report
from tacit.evaluate.report.summary import summarise

__all__ = ["Sensitivity", "sensitivity_of", "summarise", "write_report"]
