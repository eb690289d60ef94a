// What stands for a policy beside its name: the colour and dash of its lines.
import {svg} from "./elements";
import {kDashes, lineColours, onTheme} from "./theme";

/** The colour and dash of a policy, which stand for it in every chart. */
export function swatch(policy: number): SVGElement {
  const stroke = svg("line", {x1: 0, x2: 22, y1: 4, y2: 4, "stroke-width": 2, "stroke-dasharray": kDashes[policy % kDashes.length]!});
  const paint = () => stroke.setAttribute("stroke", lineColours()[policy % lineColours().length]!);
  paint();
  onTheme(paint);
  return svg("svg", {class: "dash", width: 22, height: 8, "aria-hidden": "true"}, stroke);
}
