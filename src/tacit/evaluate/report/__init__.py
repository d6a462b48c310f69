"""Reports: pages that open without a network, with their data beside them."""

from tacit.evaluate.report.figures import all_figures, section_titles, task_tables
from tacit.evaluate.report.page import write_figures, write_folder, write_page, write_results
from tacit.evaluate.report.summary import summarise

__all__ = [
    "all_figures", "section_titles", "summarise", "task_tables", "write_figures", "write_folder",
    "write_page", "write_results",
]  # fmt: skip
