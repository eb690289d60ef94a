"""Small SVG pictures that are legible on light and dark pages: they bring their own background."""

from xml.sax.saxutils import escape

STYLE = """\
svg { --paper: #ffffff; --ink: #1f2328; --faint: #d0d7de; --soft: #59636e }
@media (prefers-color-scheme: dark) {
  svg { --paper: #15191f; --ink: #e6edf3; --faint: #3d444d; --soft: #9198a1 } }
.paper { fill: var(--paper); stroke: var(--faint) }
text { fill: var(--ink); font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
path { fill: none; stroke: var(--soft); stroke-width: 1.5 }
.arrow { fill: var(--soft); stroke: none }
.word { fill: #2f6f4f; stroke: none } .word-text { fill: #ffffff }
.rule { fill: var(--paper); stroke: var(--soft); stroke-width: 1.5 } .rule-text { fill: var(--ink) }
.name { font-weight: bold } .note { fill: var(--soft); font-size: 12px }
.free { fill: none; stroke: var(--faint) } .cell { stroke: var(--paper); stroke-width: 2 }
.own { fill: #ffffff; font-size: 12px }
"""


class Drawing:
    """Collects shapes; all lengths are pixels."""

    def __init__(self, title: str):
        self._title = title
        self._shapes = []
        self._width = 0

    def widen(self, width: float) -> None:
        self._width = max(self._width, width)

    def path(self, d: str) -> None:
        self._shapes.append(f'<path d="{d}"/>')

    def arrow(self, x: float, y: float, way: int) -> None:
        """A tip at (x, y) that points right (1) or left (-1)."""
        self._shapes.append(f'<path class="arrow" d="M{x:g} {y:g}l{-6 * way} -4v8z"/>')

    def box(self, x, y, width, height, css, radius=2, fill="") -> None:
        style = f' style="fill:{fill}"' if fill else ""
        self._shapes.append(f'<rect class="{css}" x="{x:g}" y="{y:g}" width="{width:g}" '
                            f'height="{height:g}" rx="{radius:g}"{style}/>')

    def text(self, x: float, y: float, text: str, css: str) -> None:
        anchor = ' text-anchor="middle"' if css.endswith("-text") or css in ("own", "note") else ""
        self._shapes.append(f'<text class="{css}" x="{x:g}" y="{y:g}"{anchor}>{escape(text)}</text>')

    def svg(self, height: float) -> str:
        width = round(self._width)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:g}" '
                f'viewBox="0 0 {width} {height:g}" role="img">\n'
                f"<title>{escape(self._title)}</title>\n<style>\n{STYLE}</style>\n"
                f'<rect class="paper" x="0.5" y="0.5" width="{width - 1}" height="{height - 1:g}" '
                'rx="6"/>\n' + "\n".join(self._shapes) + "\n</svg>\n")
