"""The report of the pool's sweeps: one page that works offline, the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from tacit.evaluate.pool_sweeps import PAPER_SAYS, PAPER_TABLE_1, Sweeps
from tacit.files import atomic_file

__all__ = ["write_report"]

_COLOURS = {"default": "#0c9485", "paper": "#e8710a"}
_TITLES = {
    "6": "Information loss by arrivals and stay",
    "7": "Information loss by k",
    "8": "Information loss by window and overlap",
}


def write_report(sweeps: Sweeps, path: str | Path) -> None:
    """Write the page; everything is inside it, and it runs no script."""
    import altair

    charts = {"6": _figure_6(altair, sweeps), "7": _figure_7(altair, sweeps), "8": _figure_8(altair, sweeps)}
    environment = Environment(loader=PackageLoader("tacit.evaluate"), autoescape=True)
    page = environment.get_template("pool_sweeps.html.j2").render(
        base=sweeps.base,
        seeds=sweeps.seeds,
        figures=[
            {
                "number": number,
                "title": _TITLES[number],
                "svg": Markup(_svg(chart)),
                "says": PAPER_SAYS[f"Figure {number}"],
                "rows": sweeps.of(f"Figure {number}"),
            }
            for number, chart in charts.items()
        ],
        table=_table_1(sweeps),
        verdicts=sweeps.verdicts,
    )
    with atomic_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _svg(chart: Any) -> str:
    """The chart as SVG, in colours that can be read on light and dark pages."""
    import vl_convert

    grey = "#7c8692"
    axis = {
        "labelColor": grey,
        "titleColor": grey,
        "gridColor": "#8884",
        "domainColor": grey,
        "tickColor": grey,
    }
    config = {
        "background": "transparent",
        "padding": {"left": 5, "top": 5, "bottom": 5, "right": 60},
        "axis": axis,
        "legend": {"labelColor": grey, "titleColor": grey, "symbolStrokeColor": grey},
        "title": {"color": grey},
        "view": {"stroke": "transparent"},
    }
    svg: str = vl_convert.vegalite_to_svg(chart.to_dict() | {"config": config})
    return svg


def _rows(sweeps: Sweeps, figure: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key != "figure"}
        | {"series": f"{row['mode']}, stay {row['stay']:g}"}
        for row in sweeps.of(figure)
    ]


def _base(altair: Any, rows: list[dict[str, Any]], width: int = 300) -> Any:
    return altair.Chart(altair.Data(values=rows)).mark_line(point=True).properties(width=width, height=220)


def _loss(altair: Any, *, logarithmic: bool = False) -> Any:
    scale = altair.Scale(type="log") if logarithmic else altair.Undefined
    axis = altair.Axis(format="~p", values=[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5]) if logarithmic else None
    return altair.Y(
        "information_loss:Q",
        title="information loss (AvgIL)",
        scale=scale,
        axis=axis or altair.Axis(format="%"),
    )


def _ncp(altair: Any) -> Any:
    return altair.Y("ncp:Q", title="share of width (NCP)", axis=altair.Axis(format="%"))


def _mode(altair: Any) -> Any:
    scale = altair.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    return altair.Color("mode:N", scale=scale, title="mode")


def _dash(altair: Any, field: str, title: str) -> Any:
    legend = altair.Legend(
        symbolType="stroke", symbolStrokeColor="#7c8692", symbolStrokeWidth=2, symbolSize=400, symbolOpacity=1
    )
    return altair.StrokeDash(f"{field}:N", title=title, legend=legend)


def _figure_6(altair: Any, sweeps: Sweeps) -> Any:
    rows = _rows(sweeps, "Figure 6")
    x = altair.X("arrivals:Q", title="arrivals per unit of time (λ)")
    dash = _dash(altair, "stay", "stay (μ)")
    said = [
        {"arrivals": 50, "information_loss": 0.05, "text": "the paper, μ = 50 and 100"},
        {"arrivals": 50, "information_loss": 0.10, "text": "the paper, μ = 10: below"},
    ]
    points = (
        altair.Chart(altair.Data(values=said))
        .mark_point(shape="cross", size=90, color="#888", strokeWidth=2)
        .encode(x="arrivals:Q", y="information_loss:Q")
    )
    loss = _loss(altair, logarithmic=True)
    lines = _base(altair, rows).encode(x=x, y=loss, color=_mode(altair), strokeDash=dash)
    widths = _base(altair, rows).encode(x=x, y=_ncp(altair), color=_mode(altair), strokeDash=dash)
    return (lines + points) | widths


def _figure_7(altair: Any, sweeps: Sweeps) -> Any:
    rows = _rows(sweeps, "Figure 7")
    x = altair.X("k:Q", title="people who share a region (k)")
    said = [{"k": k, "information_loss": 0.04} for k in (5, 10)]
    limit = (
        altair.Chart(altair.Data(values=said))
        .mark_line(color="#888", strokeDash=[2, 2])
        .encode(x="k:Q", y="information_loss:Q")
    )
    lines = _base(altair, rows).encode(x=x, y=_loss(altair), color=_mode(altair))
    return (lines + limit) | _base(altair, rows).encode(x=x, y=_ncp(altair), color=_mode(altair))


def _figure_8(altair: Any, sweeps: Sweeps) -> Any:
    rows = _rows(sweeps, "Figure 8")
    x = altair.X("window:Q", title="window (w)")
    dash = _dash(altair, "overlap", "overlap (p)")
    charts = []
    for leavers in ("silent", "answer"):
        some = [row for row in rows if row["leavers"] == leavers]
        charts.append(
            _base(altair, some)
            .encode(x=x, y=_loss(altair), color=_mode(altair), strokeDash=dash)
            .properties(title=f"leavers {'answer' if leavers == 'answer' else 'are silent'}")
        )
    return charts[0] | charts[1]


def _table_1(sweeps: Sweeps) -> list[dict[str, Any]]:
    """Table 1's columns: the paper's figures and ours."""
    ours = {
        (row["mode"], row["arrivals"]): row
        for row in sweeps.of("Figure 6")
        if row["stay"] == sweeps.base.stay
    }
    return [
        {
            "arrivals": arrivals,
            "paper_unregistered": unregistered,
            "paper_forced": forced,
            "modes": [ours.get((mode, float(arrivals))) for mode in ("paper", "default")],
        }
        for arrivals, unregistered, forced in zip(
            PAPER_TABLE_1["arrivals"],
            PAPER_TABLE_1["unregistered"],
            PAPER_TABLE_1["forced_expired"],
            strict=True,
        )
    ]
