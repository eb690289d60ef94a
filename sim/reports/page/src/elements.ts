// Short ways to make elements.

export type Child = Node | string | null;
type Attributes = Record<string, string | number | boolean | EventListener>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
}

/** An HTML element; attributes that are functions are listeners, `false` leaves one out. */
export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

/** A group of buttons of which one is pressed. */
export function choice<T extends string>(
  label: string, options: readonly (readonly [T, string])[], chosen: T, choose: (option: T) => void): HTMLElement {
  const buttons = options.map(([value, text]) =>
    html("button", {type: "button", "aria-pressed": String(value === chosen), "data-value": value}, text));
  buttons.forEach((button, at) => button.addEventListener("click", () => {
    for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    choose(options[at]![0]);
  }));
  return html("div", {class: "choice", role: "group", "aria-label": label},
    html("span", {class: "label"}, label), ...buttons);
}

/** A table whose first column names the row; numbers are texts already. */
export function table(caption: string, head: string[], rows: string[][]): HTMLTableElement {
  const cells = (row: string[]) => row.map((text, at) =>
    at === 0 ? html("th", {scope: "row"}, text) : html("td", {}, text));
  return html("table", {},
    html("caption", {}, caption),
    html("thead", {}, html("tr", {}, ...head.map((text) => html("th", {scope: "col"}, text)))),
    html("tbody", {}, ...rows.map((row) => html("tr", {}, ...cells(row)))));
}

/** A table behind a chart, made when it is opened first. */
export function tableBehind(make: () => HTMLElement): HTMLDetailsElement {
  const details = html("details", {class: "behind"}, html("summary", {}, "Table"));
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    details.replaceChildren(details.firstElementChild!, html("div", {class: "scroll"}, make()));
  });
  return details;
}
