"""The report of a sweep: one page that opens without a network, and its data."""

from tacit.evaluate.report.sensitivity import Sensitivity, sensitivity_of
from tacit.evaluate.report.summary import summarise
from tacit.evaluate.report.writing import write_report

__all__ = ["Sensitivity", "sensitivity_of", "summarise", "write_report"]
