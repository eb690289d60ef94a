// The page of a sweep: every figure against each parameter, by policy.
import type {SweepReport, SweptFigure} from "./data";
import {html, table} from "./elements";
import {type FigureWords, kFigures} from "./figure_words";
import {titled} from "./head";
import {ParameterPanel} from "./parameter_panel";
import {swatch} from "./swatch";

/** Most charts of the first parameter at fixed values of the others. */
const kFacetsMax = 24;

/** The charts of one figure: against each parameter, and the first parameter at every value of the others. */
function charts(report: SweepReport, figure: SweptFigure, words: FigureWords): HTMLElement[] {
  const {parameters, policies, points} = report;
  const out = [html("div", {class: "row"}, ...parameters.map(({path, values}, at) =>
    new ParameterPanel({title: path, values, policies, words, estimates: figure.by_value[at]!}).element))];
  if (parameters.length < 2) return out;
  const others = (point: number[]) => parameters.slice(1).map(({path, values}, at) =>
    `${path} ${values[point[at + 1]!]!}`).join(", ");
  const facets = [...new Set(points.map(others))];
  if (facets.length > kFacetsMax) {
    out.push(html("p", {class: "note"}, `The table has the ${facets.length} combinations of the other parameters one by one.`));
    return out;
  }
  out.push(html("h3", {}, `${parameters[0]!.path}, the others fixed`), html("div", {class: "row"}, ...facets.map((facet) => {
    const chosen = points.flatMap((point, at) => others(point) === facet ? [at] : []);
    return new ParameterPanel({title: facet, policies, words,
      values: chosen.map((at) => parameters[0]!.values[points[at]![0]!]!),
      estimates: chosen.map((at) => figure.by_point[at]!)}).element;
  })));
  return out;
}

/** Every point with the means of the figure. */
function pointsTable(report: SweepReport, figure: SweptFigure, words: FigureWords): HTMLElement {
  return html("div", {class: "scroll"}, table(`${words.name} at every point`,
    [...report.parameters.map(({path}) => path), ...report.policies.flatMap((policy) => [policy, "95 % interval"])],
    report.points.map((point, at) => [...point.map((value, p) => report.parameters[p]!.values[value]!),
      ...figure.by_point[at]!.flatMap(({mean, low, high}) =>
        [words.say(mean), low === null || high === null ? "—" : `${words.say(low)} to ${words.say(high)}`])])));
}

export function sweepPage(report: SweepReport): HTMLElement[] {
  document.title = `${report.name}, a sweep of ${report.scenario}`;
  const shown = report.figures.filter((figure) => kFigures[figure.key] !== undefined);
  const area = html("div", {id: "swept"});
  const draw = (key: string) => {
    const figure = shown.find((one) => one.key === key)!;
    const words = kFigures[key]!;
    area.replaceChildren(...charts(report, figure, words), html("h3", {}, "Every point"), pointsTable(report, figure, words));
  };
  const select = html("select", {id: "figure", "aria-label": "Figure"},
    ...shown.map((figure) => html("option", {value: figure.key, selected: figure.key === "jct_avg_s"}, kFigures[figure.key]!.name)));
  select.addEventListener("change", () => draw(select.value));
  draw("jct_avg_s");
  const seeds = report.seeds.length;
  const cells = report.points.length * report.policies.length * seeds;
  return [
    titled(report.name, [["scenario", report.scenario], ["world", report.world], ["policies", report.policies.join(", ")],
      ["seeds", String(seeds)], ["cells", String(cells)]]),
    report.description === "" ? html("div") : html("p", {class: "note"}, report.description),
    html("section", {id: "sweep"},
      html("label", {class: "choice"}, html("span", {class: "label"}, "Figure"), select),
      html("div", {class: "legend"}, ...report.policies.map((name, at) => html("span", {class: "item"}, swatch(at), " ", name))),
      html("p", {class: "note"}, (seeds > 1 ? `Dots are means over ${seeds} seeds, whiskers their ${report.interval_method}.`
        : "One seed, so there are no intervals; more seeds in the file give them.") +
        (report.parameters.length > 1 ? " Against one parameter: means over all points with its value." : "")),
      area),
  ];
}
