// Builds the page from the data inside it.
import {comparisonPage} from "./comparison_page";
import {readReport} from "./data";
import {startPrinting} from "./layout";
import {runPage} from "./run_page";
import {startTheme} from "./theme";

startTheme();
const report = readReport();
document.getElementById("page")!.append(...(report.kind === "run" ? runPage(report) : comparisonPage(report)));
startPrinting();
document.documentElement.dataset["drawn"] = "yes";
