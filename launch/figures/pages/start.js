"use strict";
// The page's own data says which page it is.
{
  const data = JSON.parse(document.getElementById("data").textContent);
  const pages = {run: drawRun, comparison: drawComparison, strategies: drawStrategies,
                 lab: drawLab, scores: drawScores};
  pages[data.page](data);
  Charts.draw();
}
