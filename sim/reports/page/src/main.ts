// Builds the page from the data inside it.
import {comparisonPage} from "./comparison_page";
import {readReport, type Report} from "./data";
import {startPrinting} from "./layout";
import {parityPage} from "./parity_page";
import {runPage} from "./run_page";
import {sweepPage} from "./sweep_page";
import {startTheme} from "./theme";

function pageOf(report: Report): HTMLElement[] {
  if (report.kind === "run") return runPage(report);
  if (report.kind === "parity") return parityPage(report);
  return report.kind === "sweep" ? sweepPage(report) : comparisonPage(report);
}

startTheme();
const report = readReport();
document.getElementById("page")!.append(...pageOf(report));
startPrinting();
document.documentElement.dataset["drawn"] = "yes";
